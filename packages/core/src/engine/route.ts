// Leaving a step: apply its `set`, evaluate its arcs once, record the decision, hand out tokens.
import { isObject } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import { type Scope, tolerant } from '../template/index.js';
import type { CompiledArc, CompiledEntry, CompiledStep } from './compile.js';
import { emitObjects } from './emit.js';
import type { GraphArc } from './graph.js';
import { executionScope, outcomeLocals } from './scope.js';
import { dictionary, type StepState } from './state.js';
import type { Turn } from './turn.js';

export interface Routed {
  /** Steps whose incoming arcs changed. */
  readonly touched: readonly number[];
  /** Targets of arcs that go back: they start at once. */
  readonly reentered: readonly number[];
}

/** `again`: the step has failed while it was routed, after its `set` had its chance; only its arcs are asked once more. */
export function route(turn: Turn, compiled: CompiledStep, visit: StepState, again = false): Routed {
  const { step } = compiled;
  const failed = visit.phase === 'failed' && step.spec.onError !== 'continue';
  // Built when a template asks for it: most arcs have none.
  const scope = () =>
    executionScope(turn.state, turn.world, outcomeLocals(step.name, visit, compiled.loop !== undefined));
  if (!again && !failed && visit.phase !== 'guarded') {
    assign(turn, step.name, compiled.toolSet, () => bareScope(turn, compiled, visit));
    assign(turn, step.name, compiled.set, scope);
    if (compiled.emit.length > 0) {
      const outcome = outcomeLocals(step.name, visit, compiled.loop !== undefined);
      const scopeWith = (locals: Record<string, unknown>) =>
        executionScope(turn.state, turn.world, { ...outcome, ...locals });
      emitObjects(turn, { name: step.name, run: visit.run }, compiled.emit, scopeWith);
    }
  }

  const chosen = choose(compiled, scope, failed);
  if (
    chosen.length === 0 &&
    visit.phase === 'done' &&
    compiled.arcs.length > 0 &&
    turn.compiled.playbook.executor.noNextIsError
  ) {
    const message = 'no arc of `next` matched and executor.spec.no_next_is_error is set';
    const info = { kind: 'schema', retryable: false, code: 'NO_ARC_MATCHED', message };
    turn.emit({ type: 'step.failed', step: step.name, run: visit.run, error: message, info });
    return route(turn, compiled, visit, true);
  }
  for (const index of chosen) assign(turn, step.name, compiled.arcs[index]?.set ?? [], scope);

  const graph = turn.compiled.graph;
  const arcs = graph.arcs[compiled.index] ?? [];
  const taken = arcs.filter((arc) => chosen.includes(arc.index) && arc.to >= 0);
  // Two arcs to one step are one visit.
  const reentered = [...new Set(taken.filter((arc) => arc.back && !isRunning(turn, arc.to)).map((arc) => arc.to))];
  const staysInside = taken.some((arc) => !arc.exits && graph.onCycle[arc.from]);
  const tokens = dictionary<JsonObject>();
  for (const arc of taken) {
    if (arc.back && !reentered.includes(arc.to)) continue;
    const name = graph.names[arc.to] as string;
    const args = compiled.arcs[arc.index]?.args;
    tokens[name] = args === undefined ? (tokens[name] ?? {}) : { ...tokens[name], ...objectOf(args.render(scope())) };
  }
  turn.emit({
    type: 'next.evaluated',
    step: step.name,
    run: visit.run,
    mode: step.next.mode,
    taken: chosen,
    // The loop goes on: what it did not leave by this time, it may still leave by later.
    dead: arcs.filter((arc) => !chosen.includes(arc.index) && !(staysInside && arc.exits)).map((arc) => arc.index),
    tokens,
    ...(reentered.length === 0 ? {} : { reset: newEpoch(turn, compiled.index, chosen, reentered) }),
    outcome:
      visit.phase !== 'failed' ? 'success' : failed && chosen.length === 0 ? 'unhandled_failure' : 'handled_failure',
  });
  return { touched: arcs.filter((arc) => arc.to >= 0).map((arc) => arc.to), reentered };
}

/** For `set` of the tool itself: there `output` is what the tool returned, without the envelope. */
function bareScope(turn: Turn, { step }: CompiledStep, visit: StepState): Scope {
  const locals = { ...outcomeLocals(step.name, visit), output: tolerant(visit.data) };
  return executionScope(turn.state, turn.world, locals);
}

function choose(compiled: CompiledStep, scope: () => Scope, failed: boolean): number[] {
  const chosen: number[] = [];
  for (const [index, arc] of compiled.arcs.entries()) {
    if (!matches(arc, scope, failed)) continue;
    chosen.push(index);
    if (compiled.step.next.mode === 'exclusive') break;
  }
  return chosen;
}

function matches(arc: CompiledArc, scope: () => Scope, failed: boolean): boolean {
  if (failed && !arc.handlesFailure) return false;
  return arc.when === undefined || arc.when.test(scope());
}

/** Steps of the loop that are not running begin again; a token that already waits outside the loop is not taken back. */
function newEpoch(
  turn: Turn,
  from: number,
  chosen: readonly number[],
  heads: readonly number[],
): Record<string, number[]> {
  const { graph } = turn.compiled;
  const reset = dictionary<number[]>();
  for (const head of heads) {
    for (const node of graph.members[graph.component[head] ?? -1] ?? []) {
      if (isRunning(turn, node)) continue;
      const name = graph.names[node] as string;
      const taken = node === from ? chosen : (turn.state.steps[name]?.taken ?? []);
      reset[name] = taken.filter((index) => stillWaits(turn, graph.arcs[node]?.[index], node === from));
    }
  }
  return reset;
}

function stillWaits(turn: Turn, arc: GraphArc | undefined, justTaken: boolean): boolean {
  if (arc === undefined || !arc.exits) return false;
  return justTaken || (turn.compiled.graph.names[arc.to] as string) in turn.state.waiting;
}

function isRunning(turn: Turn, node: number): boolean {
  return turn.state.steps[turn.compiled.graph.names[node] as string]?.phase === 'active';
}

function assign(turn: Turn, step: string, entries: readonly CompiledEntry[], scope: () => Scope): void {
  if (entries.length === 0) return;
  const values = dictionary<Json>();
  const names = scope();
  for (const entry of entries) values[entry.key] = entry.value.render(names);
  turn.emit({ type: 'ctx.updated', step, values });
}

function objectOf(value: Json): JsonObject {
  return isObject(value) ? value : {};
}
