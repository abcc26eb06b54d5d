// Carries an execution as far as it can go without a worker: route what has finished, start what may start, end when nothing
// is left. It stops dispatching after a failure that no arc handled, and ends exactly once.
import { TemplateError } from '../template/index.js';
import type { CompiledStep } from './compile.js';
import { advanceLoop, dispatch, issue } from './dispatch.js';
import { route } from './route.js';
import { candidates, judge } from './settle.js';
import { isTerminal } from './state.js';
import type { Turn } from './turn.js';

/** The failure of a command whose worker vanished. */
export const WORKER_LOST = 'WORKER_LOST';

/** A loop of steps that are all skipped by their guards, or fail before they need a worker, would never give the turn back. */
const MAX_ENDLESS_LAUNCHES = 1_000;

export function start(turn: Turn): void {
  drive(turn, [], turn.compiled.graph.entry);
}

/** The command of this step is closed: the step is done or failed. */
export function stepFinished(turn: Turn, name: string): void {
  const compiled = stepByName(turn, name);
  const visit = turn.state.steps[name];
  if (compiled === undefined || visit === undefined) return drive(turn, []);
  if (visit.loop !== null) return iterationFinished(turn, compiled);
  const again =
    visit.phase === 'failed' &&
    compiled.step.spec.onError === 'retry' &&
    visit.attempt < (compiled.step.spec.maxAttempts ?? 3) &&
    turn.state.failure === null &&
    // The lost worker may have done the work: what must not be done twice is not retried either.
    (compiled.step.spec.idempotent || visit.info?.code !== WORKER_LOST);
  if (again) {
    visitAgain(turn, compiled, visit.attempt + 1);
    return;
  }
  drive(turn, [name]);
}

/** One item of a loop has ended: the next may start, or the loop is over. A failure elsewhere lets nothing new start. */
function iterationFinished(turn: Turn, compiled: CompiledStep): void {
  const { state } = turn;
  if (state.failure !== null) return drive(turn, []);
  if (advanceLoop(turn, compiled) !== 'running') drive(turn, [compiled.step.name]);
}

function visitAgain(turn: Turn, compiled: CompiledStep, attempt: number): void {
  if (issue(turn, compiled, attempt) === 'failed') drive(turn, [compiled.step.name]);
}

function drive(turn: Turn, finished: readonly string[], entry?: number): void {
  const { state, compiled } = turn;
  const { graph } = compiled;
  const unrouted = [...finished];
  const touched = new Set<number>();
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
    if (isFailFast(turn, state.failure.step)) cancelOpen(turn, `step '${state.failure.step}' failed`);
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
  turn.emit({ type: 'playbook.ended', status, error, failedSteps: turn.state.failedSteps, reason });
}

export function cancelOpen(turn: Turn, reason: string): void {
  for (const command of Object.values(turn.state.commands)) {
    turn.emit({ type: 'command.cancelled', commandId: command.commandId, step: command.step, reason });
  }
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
