// Facts about a playbook's graph that never change while it runs: which arcs go back, which steps lie on a cycle, who can
// feed whom. Computed once per catalog version. The router (settle.ts) decides with them who waits for whom.
import type { Playbook, Step } from '../playbook/model.js';

export interface GraphArc {
  readonly from: number;
  /** Index in the source step's router; the implicit arc to `end` comes after the written ones. */
  readonly index: number;
  /** -1: `end` is not defined, the branch just finishes. */
  readonly to: number;
  /** The target dominates the source: taking it starts a new visit, and nobody waits for it. */
  readonly back: boolean;
  /** Leaves the cycle its source lies on. */
  readonly exits: boolean;
}

export interface Graph {
  readonly names: readonly string[];
  readonly indexOf: ReadonlyMap<string, number>;
  readonly entry: number;
  readonly final: number;
  readonly arcs: readonly (readonly GraphArc[])[];
  /** Forward arcs into each step. */
  readonly incoming: readonly (readonly GraphArc[])[];
  /** Strongly connected component of each step, and its members. */
  readonly component: readonly number[];
  readonly members: readonly (readonly number[])[];
  readonly onCycle: readonly boolean[];
  readonly cyclic: boolean;
  readonly reachable: readonly boolean[];
}

export function buildGraph(playbook: Playbook): Graph {
  const names = playbook.steps.map((step) => step.name);
  const indexOf = new Map(names.map((name, index) => [name, index]));
  const entry = indexOf.get(playbook.executor.entryStep) ?? 0;
  const final = indexOf.get(playbook.executor.finalStep ?? '') ?? -1;
  const targets = targetsOf(playbook.steps, indexOf, final);

  const reachable = reach(targets, entry);
  const { component, members } = components(targets);
  const onCycle = names.map(
    (_, node) => (members[component[node] ?? 0]?.length ?? 0) > 1 || targets[node]?.includes(node) === true,
  );
  const back = backEdges(targets, entry);

  const arcs = targets.map((list, from) =>
    list.map(
      (to, index): GraphArc => ({
        from,
        index,
        to,
        back: back.has(edgeKey(from, to)),
        exits: to >= 0 && component[to] !== component[from],
      }),
    ),
  );
  const incoming: GraphArc[][] = names.map(() => []);
  for (const list of arcs) for (const arc of list) if (arc.to >= 0 && !arc.back) incoming[arc.to]?.push(arc);
  return {
    names,
    indexOf,
    entry,
    final,
    arcs,
    incoming,
    component,
    members,
    onCycle,
    cyclic: onCycle.some(Boolean),
    reachable,
  };
}

/** A leaf runs on to `end` when the playbook defines that step, unless that would make a cycle. */
function targetsOf(steps: readonly Step[], indexOf: ReadonlyMap<string, number>, final: number): number[][] {
  const targets = steps.map((step) => step.next.arcs.map((arc) => indexOf.get(arc.to) ?? -1));
  const end = indexOf.get('end');
  if (end === undefined) return targets;
  const fromEnd = reach(targets, end);
  for (const [node, list] of targets.entries()) {
    if (list.length === 0 && node !== final && !fromEnd[node]) list.push(end);
  }
  return targets;
}

function reach(targets: readonly (readonly number[])[], start: number): boolean[] {
  const seen = targets.map(() => false);
  const stack = [start];
  while (stack.length > 0) {
    const node = stack.pop() as number;
    if (seen[node]) continue;
    seen[node] = true;
    for (const to of targets[node] ?? []) if (to >= 0 && !seen[to]) stack.push(to);
  }
  return seen;
}

/** Tarjan's algorithm with an explicit stack: a playbook of 100,000 steps must not overflow ours. */
function components(targets: readonly (readonly number[])[]): { component: number[]; members: number[][] } {
  const count = targets.length;
  const order = new Array<number>(count).fill(-1);
  const low = new Array<number>(count).fill(0);
  const onStack = new Array<boolean>(count).fill(false);
  const component = new Array<number>(count).fill(-1);
  const members: number[][] = [];
  const stack: number[] = [];
  let clock = 0;
  for (let root = 0; root < count; root++) {
    if (order[root] !== -1) continue;
    const frames: { node: number; next: number }[] = [{ node: root, next: 0 }];
    while (frames.length > 0) {
      const frame = frames[frames.length - 1] as { node: number; next: number };
      const { node } = frame;
      if (frame.next === 0) {
        order[node] = low[node] = clock++;
        stack.push(node);
        onStack[node] = true;
      }
      const to = targets[node]?.[frame.next++];
      if (to !== undefined) {
        if (to < 0) continue;
        if (order[to] === -1) frames.push({ node: to, next: 0 });
        else if (onStack[to]) low[node] = Math.min(low[node] as number, order[to] as number);
        continue;
      }
      frames.pop();
      const parent = frames[frames.length - 1];
      if (parent !== undefined) low[parent.node] = Math.min(low[parent.node] as number, low[node] as number);
      if (low[node] === order[node]) {
        const group: number[] = [];
        let member: number;
        do {
          member = stack.pop() as number;
          onStack[member] = false;
          component[member] = members.length;
          group.push(member);
        } while (member !== node);
        members.push(group.sort((a, b) => a - b));
      }
    }
  }
  return { component, members };
}

/**
 * u→t goes back when t dominates u (a self-loop does). What is left retreating in a depth-first walk is a cycle with two
 * entrances; there one arc has to count as going back, and document order decides which.
 */
function backEdges(targets: readonly (readonly number[])[], entry: number): Set<number> {
  const postorder: number[] = [];
  const position = new Array<number>(targets.length).fill(-1);
  const back = new Set<number>();
  const state = new Array<0 | 1 | 2>(targets.length).fill(0);
  const retreating: [number, number][] = [];
  // Every step is walked, the unreachable ones too: their arcs still need a direction.
  for (const root of [entry, ...targets.keys()]) {
    if (state[root] !== 0) continue;
    const frames: { node: number; next: number }[] = [{ node: root, next: 0 }];
    state[root] = 1;
    while (frames.length > 0) {
      const frame = frames[frames.length - 1] as { node: number; next: number };
      const to = targets[frame.node]?.[frame.next++];
      if (to === undefined) {
        state[frame.node] = 2;
        position[frame.node] = postorder.length;
        postorder.push(frame.node);
        frames.pop();
      } else if (to >= 0) {
        if (state[to] === 0) {
          state[to] = 1;
          frames.push({ node: to, next: 0 });
        } else if (state[to] === 1) retreating.push([frame.node, to]);
      }
    }
  }
  // Every dominator back edge is retreating in every depth-first walk, so this set covers both rules.
  for (const [from, to] of retreating) back.add(edgeKey(from, to));
  return back;
}

function edgeKey(from: number, to: number): number {
  return from * 1_048_576 + to;
}
