// Carries an execution as far as it can go without a worker: route what has finished, start what may start, end when nothing
// is left. It stops dispatching after a failure that no arc handled, and ends exactly once.
import type { Json } from '../json/types.js';
import { TemplateError } from '../template/index.js';
import { cancelCommand } from './cancel.js';
import type { CompiledStep } from './compile.js';
import { markClaimed } from './cursor.js';
import { dispatch } from './dispatch.js';
import type { Graph } from './graph.js';
import { issue } from './issue.js';
import { advanceLoop, issueItem } from './loop.js';
import { route } from './route.js';
import { candidates, judge } from './settle.js';
import { type CommandState, type ExecutionState, isTerminal, type StepState } from './state.js';
import type { Turn } from './turn.js';

/** The failure of a command whose worker vanished. */
export const WORKER_LOST = 'WORKER_LOST';
/** The failure of a command whose worker still had it when its time was up. */
export const TIMED_OUT = 'TIMEOUT';

/** A loop of steps that are all skipped by their guards, or fail before they need a worker, would never give the turn back. */
const MAX_ENDLESS_LAUNCHES = 1_000;

export function start(turn: Turn): void {
  drive(turn, [], { entry: turn.compiled.graph.entry });
}

/** A command is closed: its step is done or failed, or its loop goes on. */
export function commandClosed(turn: Turn, command: CommandState): void {
  const name = command.step;
  const compiled = stepByName(turn, name);
  const visit = turn.state.steps[name];
  if (compiled === undefined || visit === undefined) return drive(turn, []);
  if (visit.loop !== null) return itemClosed(turn, compiled, visit, command);
  if (visit.phase === 'failed' && mayRetry(turn, compiled, visit.attempt, visit.info?.code)) {
    if (issue(turn, compiled, visit.attempt + 1) === 'running') return;
  }
  drive(turn, [name]);
}

/** One item of a loop has ended: the next may start, or the loop is over. A failure elsewhere lets nothing new start. */
function itemClosed(turn: Turn, compiled: CompiledStep, { loop }: StepState, command: CommandState): void {
  if (turn.state.failure !== null) return drive(turn, []);
  if (loop !== null && command.cursor?.phase === 'claim') markClaimed(turn, compiled, loop, command.cursor.frame);
  const index = command.iteration;
  const failed = loop?.errors.find((error) => error.index === index);
  if (loop !== null && index !== null && failed !== undefined && loop.cursor === null) {
    const over = loop.onError !== 'continue' && loop.errors.length > 1;
    if (!over && mayRetry(turn, compiled, command.attempt, failed.info?.code))
      issueItem(turn, compiled, loop, index, command.attempt + 1);
  }
  if (advanceLoop(turn, compiled) !== 'running') drive(turn, [compiled.step.name]);
}

function mayRetry({ state }: Turn, { step }: CompiledStep, attempt: number, code: string | undefined): boolean {
  return (
    step.spec.onError === 'retry' &&
    attempt < (step.spec.maxAttempts ?? 3) &&
    state.failure === null &&
    // The worker may have done the work, or be at it still: what must not be done twice is not retried either.
    (step.spec.idempotent || (code !== WORKER_LOST && code !== TIMED_OUT))
  );
}

/** After a fork: what was under way in the copied log starts again, what had ended and was not followed up is routed. */
export function resume(turn: Turn): void {
  const { state, compiled } = turn;
  const unrouted: string[] = [];
  for (const [node, step] of compiled.steps.entries()) {
    const visit = state.steps[step.step.name];
    if (visit === undefined) continue;
    if (visit.phase === 'active') {
      const running = visit.loop === null ? issue(turn, step, 1) : advanceLoop(turn, step);
      if (running !== 'running') unrouted.push(step.step.name);
    } else if (isUnrouted(visit) && (compiled.graph.arcs[node]?.length ?? 0) > 0) unrouted.push(step.step.name);
  }
  const nothingRan = (state.steps[compiled.graph.names[compiled.graph.entry] as string]?.run ?? 0) === 0;
  // The log may have been cut in the middle of a turn: every step is looked at once.
  drive(turn, unrouted, { entry: nothingRan ? compiled.graph.entry : undefined, touched: reachable(compiled.graph) });
}

function reachable(graph: Graph): number[] {
  return [...graph.names.keys()].filter((node) => graph.reachable[node]);
}

function isUnrouted(visit: StepState): boolean {
  const over = visit.phase === 'done' || visit.phase === 'failed' || visit.phase === 'guarded';
  return over && visit.decided && visit.taken.length === 0 && visit.dead.length === 0;
}

/** `entry`: a step to launch first. `touched`: steps that may move although nothing in this turn has led to them. */
interface DriveFrom {
  readonly entry?: number | undefined;
  readonly touched?: readonly number[];
}

function drive(turn: Turn, finished: readonly string[], { entry, touched: first = [] }: DriveFrom = {}): void {
  const { state, compiled } = turn;
  const { graph } = compiled;
  const unrouted = [...finished];
  const touched = new Set<number>(first);
  let launches = 0;
  const launch = (node: number) => {
    const step = compiled.steps[node] as CompiledStep;
    if (++launches > MAX_ENDLESS_LAUNCHES + graph.names.length) {
      throw new Error(`step '${step.step.name}' goes round in a loop that no worker ever enters`);
    }
    if (dispatch(turn, step) !== 'running') unrouted.push(step.step.name);
  };
  if (entry !== undefined) launch(entry);

  while (!isTerminal(state)) {
    const name = unrouted[0];
    if (name !== undefined && state.failure === null) {
      const step = stepByName(turn, name) as CompiledStep;
      const visit = state.steps[name];
      if (visit === undefined) throw new Error(`step '${name}' was never entered`);
      const { reentered, touched: targets } = routeOrFail(turn, step);
      unrouted.shift();
      for (const node of targets) touched.add(node);
      for (const node of reentered) launch(node);
      continue;
    }
    if (state.failure === null && settle()) continue;
    if (!finish(turn, launch)) return;
  }

  /** One pass over the steps that may move. True when something did. */
  function settle(): boolean {
    const list = candidates(graph, state, touched);
    touched.clear();
    let moved = false;
    for (const node of list) {
      const verdict = judge(graph, state, node, unrouted);
      if (verdict === 'wait') continue;
      moved = true;
      if (verdict === 'start') launch(node);
      else {
        const skipped = graph.names[node] as string;
        turn.emit({ type: 'step.skipped', step: skipped, run: state.steps[skipped]?.run ?? 0, reason: 'dead_path' });
        for (const arc of graph.arcs[node] ?? []) if (arc.to >= 0) touched.add(arc.to);
      }
    }
    return moved;
  }
}

/** A `set` value that cannot be rendered fails the step that wrote it; its error arcs get their chance. */
function routeOrFail(turn: Turn, step: CompiledStep): ReturnType<typeof route> {
  const name = step.step.name;
  const visit = turn.state.steps[name];
  if (visit === undefined) throw new Error(`step '${name}' was never entered`);
  try {
    return route(turn, step, visit);
  } catch (error) {
    if (!(error instanceof TemplateError) || visit.phase === 'failed') throw error;
    const info = { kind: 'transform', retryable: false, code: 'TEMPLATE_ERROR', message: error.message };
    turn.emit({ type: 'step.failed', step: name, run: visit.run, error: `Template error: ${error.message}`, info });
    return route(turn, step, visit, true);
  }
}

/** Nothing can start now. Either something is still running, or this is the end. True when a last step was started. */
function finish(turn: Turn, launch: (node: number) => void): boolean {
  const { state, compiled } = turn;
  const { graph } = compiled;
  if (state.failure !== null) {
    cancelAfterFailure(turn, state.failure.step);
    if (!isEmpty(state.commands)) return false;
    end(turn, 'FAILED', `Step '${state.failure.step}' failed: ${state.failure.error}`);
    return false;
  }
  if (!isEmpty(state.commands)) return false;
  // Two entrances into one cycle can leave steps that wait for each other: document order breaks the tie.
  const stuck = graph.names.findIndex((name) => name in state.waiting);
  if (stuck >= 0) {
    launch(stuck);
    return true;
  }
  if (graph.final >= 0 && (state.steps[graph.names[graph.final] as string]?.run ?? 0) === 0) {
    launch(graph.final);
    return true;
  }
  end(turn, 'COMPLETED', null);
  return false;
}

export function end(
  turn: Turn,
  status: 'COMPLETED' | 'FAILED' | 'CANCELLED',
  error: string | null,
  reason = 'quiescent',
): void {
  const { state } = turn;
  turn.emit({ type: 'playbook.ended', status, error, failedSteps: state.failedSteps, reason });
  if (state.caller === null || state.parentExecutionId === null) return;
  const { commandId, returnStep } = state.caller;
  turn.post({
    type: 'child_ended',
    target: state.parentExecutionId,
    commandId,
    status,
    data: status === 'COMPLETED' ? returnValue(state, returnStep) : null,
    error,
  });
}

/** What a parent gets: the data of the step it asked for, else of the last one that had any. */
function returnValue(state: ExecutionState, returnStep: string | null): Json {
  const asked = returnStep === null ? undefined : state.steps[returnStep];
  if (asked?.hasData) return asked.data;
  return state.lastStep === null ? null : (state.steps[state.lastStep]?.data ?? null);
}

export function cancelOpen(turn: Turn, reason: string): void {
  for (const command of Object.values(turn.state.commands)) cancelCommand(turn, command, reason);
}

/** Work under way may come to its end; a wait would only hold up the end of the execution, perhaps for ever. */
function cancelAfterFailure(turn: Turn, failed: string): void {
  const all = isFailFast(turn, failed);
  for (const command of Object.values(turn.state.commands))
    if (all || command.park?.kind === 'wait') cancelCommand(turn, command, `step '${failed}' failed`);
}

function isFailFast(turn: Turn, name: string): boolean {
  return stepByName(turn, name)?.step.spec.failFast === true;
}

export function stepByName(turn: Turn, name: string): CompiledStep | undefined {
  const node = turn.compiled.graph.indexOf.get(name);
  return node === undefined ? undefined : turn.compiled.steps[node];
}

function isEmpty(map: object): boolean {
  for (const _ in map) return false;
  return true;
}
