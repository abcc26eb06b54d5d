// What random playbooks wait for: time, signals, children. Each plan says how it is written and how it must end when nobody interferes.
import type { JsonObject } from '../../json/types.js';
import type { RandomGraph } from './graphs.js';
import type { Random } from './random.js';

export interface WaitPlan {
  readonly config: JsonObject;
  /** What ends it when nobody interferes. */
  readonly ends: 'by_time' | 'by_signal';
  readonly fails: boolean;
}

export interface ChildPlan {
  readonly config: JsonObject;
  readonly graph: RandomGraph;
  /** The step waits for the child's end; else for its start. */
  readonly waits: boolean;
  readonly fails: boolean;
}

/** When the virtual clock begins. */
export const DAWN = Date.parse('2027-01-15T08:00:00.000Z');
/** Longer than any run takes while there is something else to do. */
const FOREVER = '9000h';
/** A signal that nobody sends unless a run is to be healed. */
export const NEVER = 'never';

export function planWait(random: Random, troubled: boolean): WaitPlan {
  const seconds = random.between(0, 7_200);
  const signal = random.pick(['go', 'go on', '__proto__']);
  const missed: JsonObject = { signal: NEVER, timeout: `${seconds}s` };
  if (troubled) return { config: missed, ends: 'by_time', fails: true };
  const until = new Date(DAWN + random.between(-60, 3_600) * 1_000).toISOString();
  const { config, ends } = random.pick([
    { config: { for: seconds }, ends: 'by_time' },
    { config: { for: '{{ workload.high }}m' }, ends: 'by_time' },
    { config: { until }, ends: 'by_time' },
    { config: { ...missed, on_timeout: 'continue' }, ends: 'by_time' },
    { config: { signal }, ends: 'by_signal' },
    { config: { signal, timeout: FOREVER }, ends: 'by_signal' },
  ] as const);
  return { config: { ...config }, ends, fails: false };
}

/** A child's time may run out only where the outcome of the run is open. */
export function planChild(random: Random, graph: RandomGraph, fails: boolean): ChildPlan {
  const waits = random.chance(0.8);
  const { workload } = graph;
  return {
    config: {
      path: graph.playbook.metadata.path,
      payload: { ...workload, list: [...workload.list] },
      ...(waits
        ? random.pick([{ wait: true }, { return_result: 'true', timeout: 90 }, { return_step: 's0', timeout: '1h' }])
        : {}),
    },
    graph,
    waits,
    fails: waits && fails,
  };
}
