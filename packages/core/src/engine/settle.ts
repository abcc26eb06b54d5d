// Who may start now. A step that holds a token waits while a branch that is still alive can reach it by another arc; a step
// that nothing alive can reach is skipped, and its arcs die with it (dead-path elimination). No finished step is ever
// evaluated again. Arcs that go back never wait (route.ts starts their targets at once).
import type { Graph, GraphArc } from './graph.js';
import type { ExecutionState } from './state.js';

export type Verdict = 'start' | 'skip' | 'wait';

/**
 * `unrouted` are steps that have finished but whose arcs are not evaluated yet: they are as alive as running ones.
 */
export function judge(graph: Graph, state: ExecutionState, node: number, unrouted: readonly string[]): Verdict {
  const name = graph.names[node] as string;
  const holdsToken = name in state.waiting;
  const pending = (graph.incoming[node] ?? []).filter((arc) => arcStatus(graph, state, arc) === 'pending');
  if (holdsToken) {
    if (pending.length === 0) return 'start';
    const live = liveSteps(graph, state, unrouted, node);
    return pending.some((arc) => live[arc.from]) ? 'wait' : 'start';
  }
  if (node === graph.final || node === graph.entry || (state.steps[name]?.run ?? 0) > 0) return 'wait';
  const live = liveSteps(graph, state, unrouted, -1);
  return live[node] || pending.some((arc) => live[arc.from]) ? 'wait' : 'skip';
}

/** Steps worth judging after a change. On an acyclic graph only targets of changed arcs and waiting steps can move. */
export function candidates(graph: Graph, state: ExecutionState, touched: Iterable<number>): number[] {
  const nodes = new Set<number>();
  const open = graph.cyclic ? [...graph.names.keys()].filter((node) => graph.reachable[node]) : touched;
  for (const node of open) nodes.add(node);
  for (const name in state.waiting) {
    const node = graph.indexOf.get(name);
    if (node !== undefined) nodes.add(node);
  }
  return [...nodes].filter((node) => !state.steps[graph.names[node] as string]?.decided).sort((a, b) => a - b);
}

function arcStatus(graph: Graph, state: ExecutionState, arc: GraphArc): 'pending' | 'taken' | 'dead' {
  const step = state.steps[graph.names[arc.from] as string];
  if (step === undefined) return 'pending';
  if (step.taken.includes(arc.index)) return 'taken';
  if (step.phase === 'skipped' || step.dead.includes(arc.index)) return 'dead';
  return 'pending';
}

/** Everything that running, finishing or waiting steps can still reach without passing through `avoid`. */
function liveSteps(graph: Graph, state: ExecutionState, unrouted: readonly string[], avoid: number): boolean[] {
  const live: boolean[] = new Array(graph.names.length).fill(false);
  const stack: number[] = [];
  const seed = (name: string) => {
    const node = graph.indexOf.get(name);
    if (node !== undefined && node !== avoid && !live[node]) {
      live[node] = true;
      stack.push(node);
    }
  };
  for (const id in state.commands) seed(state.commands[id]?.step ?? '');
  for (const name in state.waiting) seed(name);
  for (const name of unrouted) seed(name);
  while (stack.length > 0) {
    const node = stack.pop() as number;
    for (const arc of graph.arcs[node] ?? []) {
      if (arc.to < 0 || arc.to === avoid || live[arc.to]) continue;
      if (!graph.onCycle[node] && !arc.back && arcStatus(graph, state, arc) === 'dead') continue;
      live[arc.to] = true;
      stack.push(arc.to);
    }
  }
  return live;
}
