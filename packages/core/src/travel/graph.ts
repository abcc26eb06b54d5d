// The graph of a playbook as it stood at a moment: each step with its state, each arc taken, dead or still open.
import type { CompiledPlaybook } from '../engine/compile.js';
import type { ExecutionState, StepPhase, StepState } from '../engine/state.js';
import type { JsonObject } from '../json/types.js';
import { loopView } from './view.js';

/** `waiting`: it holds a token and waits for its other branches. `queued`: its work waits for a worker. `parked`: it waits for a time, a
 * signal or a child. */
export type NodeState =
  | 'pending'
  | 'waiting'
  | 'queued'
  | 'parked'
  | 'running'
  | 'done'
  | 'failed'
  | 'skipped'
  | 'guarded';

export interface GraphNode {
  readonly id: string;
  readonly kind: string;
  readonly state: NodeState;
  readonly visit: number;
  readonly attempts: number;
  readonly started: string | null;
  readonly ended: string | null;
  readonly error: string | null;
  readonly loop: JsonObject | null;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** Index among the arcs of its step. */
  readonly index: number;
  readonly when: string | null;
  /** It leads back: taking it begins a new visit. */
  readonly back: boolean;
  readonly state: 'taken' | 'dead' | 'pending';
}

export interface GraphView {
  readonly nodes: readonly GraphNode[];
  readonly arcs: readonly GraphEdge[];
}

export function graphAt({ graph, steps }: CompiledPlaybook, state: Readonly<ExecutionState>): GraphView {
  const nodes = steps.map(({ step, toolKind }): GraphNode => {
    const now = state.steps[step.name];
    return {
      id: step.name,
      kind: toolKind,
      state: nodeState(step.name, now, state),
      visit: now?.run ?? 0,
      attempts: now?.attempt ?? 0,
      started: now?.enteredAt ?? null,
      ended: now?.finishedAt ?? null,
      error: now?.error ?? null,
      loop: now == null || now.loop === null ? null : loopView(now.loop),
    };
  });
  const arcs = graph.arcs.flatMap((list, from) =>
    list.flatMap((arc): GraphEdge[] => {
      const name = graph.names[from] ?? '';
      const to = graph.names[arc.to];
      if (to === undefined) return [];
      const when = steps[from]?.arcs[arc.index]?.arc?.when;
      const { taken = [], dead = [] } = state.steps[name] ?? {};
      return [
        {
          from: name,
          to,
          index: arc.index,
          when: when === undefined ? null : String(when),
          back: arc.back,
          state: taken.includes(arc.index) ? 'taken' : dead.includes(arc.index) ? 'dead' : 'pending',
        },
      ];
    }),
  );
  return { nodes, arcs };
}

function nodeState(name: string, step: StepState | undefined, state: Readonly<ExecutionState>): NodeState {
  if (state.waiting[name] !== undefined && step?.phase !== 'active') return 'waiting';
  if (step === undefined) return 'pending';
  return step.phase === 'active' ? activeState(name, state) : SETTLED[step.phase];
}

const SETTLED: Record<Exclude<StepPhase, 'active'>, NodeState> = {
  idle: 'pending',
  done: 'done',
  failed: 'failed',
  skipped: 'skipped',
  guarded: 'guarded',
};

/** One command that runs is enough: a loop whose other items are queued is running. */
function activeState(name: string, state: Readonly<ExecutionState>): NodeState {
  const statuses = Object.values(state.commands).flatMap((command) => (command.step === name ? [command.status] : []));
  if (statuses.some((status) => status === 'CLAIMED' || status === 'RUNNING')) return 'running';
  if (statuses.includes('PENDING')) return 'queued';
  return statuses.includes('WAITING') ? 'parked' : 'running';
}
