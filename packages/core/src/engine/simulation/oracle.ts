// What an acyclic playbook must do, worked out in one topological walk over its plan. It shares no code with the engine.
import type { View } from './conditions.js';
import type { RandomGraph, StepPlan } from './graphs.js';
import { isParked, loopOutcome, RETRY_ATTEMPTS } from './work.js';

export interface Expected {
  /** Steps that get a command, when no failure stops the run. */
  readonly entered: ReadonlySet<string>;
  readonly status: 'COMPLETED' | 'FAILED';
}

/** The arcs a step really has: a leaf runs on to `end` when the playbook defines it. */
export function arcsOf(graph: RandomGraph, plan: StepPlan): readonly StepPlan['arcs'][number][] {
  const definesEnd = graph.plans.some(({ name }) => name === 'end');
  const isLast = plan.name === 'end' || plan.name === graph.playbook.executor.finalStep;
  return plan.arcs.length === 0 && definesEnd && !isLast ? [{ to: 'end' }] : plan.arcs;
}

export function expectedOf(graph: RandomGraph): Expected {
  const { executor } = graph.playbook;
  const tokens = new Set([executor.entryStep]);
  const entered = new Set<string>();
  let failed = false;
  let made = false;
  // Plans are in topological order: a forward arc always points to a later plan, `end` and the final step are the last two.
  for (const plan of graph.plans) {
    if (!tokens.has(plan.name) && plan.name !== executor.finalStep) continue;
    const visit = visitOf(graph, plan, made);
    if (visit.entered) entered.add(plan.name);
    for (const to of visit.taken) tokens.add(to);
    failed ||= visit.unhandled;
    made ||= plan.name === executor.entryStep && visit.sets;
  }
  return { entered, status: failed ? 'FAILED' : 'COMPLETED' };
}

interface Visit {
  readonly entered: boolean;
  /** Its `set` has run. */
  readonly sets: boolean;
  readonly taken: string[];
  readonly unhandled: boolean;
}

function visitOf(graph: RandomGraph, plan: StepPlan, made: boolean): Visit {
  const { workload } = graph;
  const blank: View = { workload, failed: false, value: undefined, seen: undefined, lost: undefined };
  if (plan.guard?.holds?.(blank) === false)
    return { entered: false, sets: false, taken: takenBy(graph, plan, blank), unhandled: false };

  const tries = plan.onError === 'retry' ? RETRY_ATTEMPTS : 1;
  const looped = loopOutcome(plan, workload, made);
  const fails = looped?.failed ?? plan.failures >= tries;
  const tolerates = plan.onError === 'continue';
  const tolerated = fails && tolerates;
  const view: View = {
    workload,
    failed: fails,
    value: fails || looped !== undefined || isParked(plan) ? undefined : plan.value,
    seen: fails && !tolerated ? undefined : workload.low,
    lost: looped?.lost,
  };
  const stops = fails && !tolerated;
  const taken = takenBy(graph, plan, view, stops);
  if (taken.length > 0 || stops) return { entered: true, sets: !stops, taken, unhandled: taken.length === 0 };
  const strict = graph.playbook.executor.noNextIsError && !fails && arcsOf(graph, plan).length > 0;
  if (!strict) return { entered: true, sets: true, taken, unhandled: false };
  // Nothing matched although something must: the step fails, and its error arcs get their chance.
  const second = takenBy(graph, plan, { ...view, failed: true }, !tolerates);
  return { entered: true, sets: true, taken: second, unhandled: second.length === 0 && !tolerates };
}

function takenBy(graph: RandomGraph, plan: StepPlan, view: View, onlyOutcome = false): string[] {
  const matching = arcsOf(graph, plan).filter(({ when }) => {
    if (onlyOutcome && when?.seesOutcome !== true) return false;
    return when?.holds?.(view) ?? true;
  });
  return (plan.mode === 'exclusive' ? matching.slice(0, 1) : matching).map(({ to }) => to);
}
