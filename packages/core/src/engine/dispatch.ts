// Starting a step: its guard, its visit number, and the command a worker will claim. Rendering happens here and only here; a
// value that cannot be rendered fails the step, not the playbook, so an error arc can handle it.
import { isObject } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import { type Scope, TemplateError } from '../template/index.js';
import type { CompiledLoop, CompiledStep } from './compile.js';
import type { CommandContext, ErrorInfo } from './events.js';
import { closeLoop, iterationArgs, iterationLocals, mayIssue, openLoop } from './loop.js';
import { contextOf, executionScope, flatContext } from './scope.js';
import type { Turn } from './turn.js';

const DEFAULT_MAX_ATTEMPTS = 3;

/** `done`: it needs no worker at all, like a loop over nothing. */
export type Dispatched = 'running' | 'guarded' | 'failed' | 'done';

export function dispatch(turn: Turn, compiled: CompiledStep): Dispatched {
  const { step } = compiled;
  const run = (turn.state.steps[step.name]?.run ?? 0) + 1;
  const args = turn.state.waiting[step.name] ?? {};
  const scope = executionScope(turn.state, turn.world, { args, ...args, step_name: step.name });
  if (!admitted(compiled, scope)) {
    turn.emit({ type: 'step.skipped', step: step.name, run, reason: 'guard' });
    return 'guarded';
  }
  if (compiled.loop === undefined) {
    turn.emit({ type: 'step.enter', step: step.name, run });
    return issue(turn, compiled, 1);
  }
  return enterLoop(turn, compiled, compiled.loop, run, scope);
}

function enterLoop(turn: Turn, compiled: CompiledStep, loop: CompiledLoop, run: number, scope: Scope): Dispatched {
  const step = compiled.step.name;
  const eventId = turn.world.nextId();
  try {
    turn.emit({ type: 'step.enter', step, run, loop: openLoop(loop, scope, `${step}:${eventId}`) }, eventId);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    turn.emit({ type: 'step.enter', step, run }, eventId);
    return failToRender(turn, step, run, error);
  }
  return advanceLoop(turn, compiled);
}

/** Fills the window of a loop; `done` or `failed` when the loop has ended. */
export function advanceLoop(turn: Turn, compiled: CompiledStep): Dispatched {
  const name = compiled.step.name;
  for (;;) {
    const loop = turn.state.steps[name]?.loop;
    if (loop === undefined || loop === null) break;
    if (loop.onError === 'fail_fast' && loop.errors.length > 0) cancelIterations(turn, name);
    if (!mayIssue(loop)) {
      if (!closeLoop(turn, compiled)) return 'running';
      break;
    }
    issue(turn, compiled, 1, loop.next);
  }
  return turn.state.steps[name]?.phase === 'failed' ? 'failed' : 'done';
}

function cancelIterations(turn: Turn, step: string): void {
  for (const command of Object.values(turn.state.commands)) {
    if (command.step !== step || command.iteration === null) continue;
    turn.emit({ type: 'command.cancelled', commandId: command.commandId, step, reason: 'another item failed' });
  }
}

/** Issues the command of the step's current visit, or of one item of its loop. */
export function issue(turn: Turn, compiled: CompiledStep, attempt: number, index?: number): Dispatched {
  const { step } = compiled;
  const entered = turn.state.steps[step.name];
  const run = entered?.run ?? 1;
  const args = entered?.args ?? {};
  const loop = index === undefined ? null : (entered?.loop ?? null);
  const locals: Record<string, unknown> = {
    args,
    ...args,
    step_name: step.name,
    ...(loop === null || index === undefined ? {} : iterationLocals(loop, index)),
  };
  const own = loop === null || index === undefined ? {} : iterationArgs(loop, index);
  let context: CommandContext;
  let unrenderable: TemplateError | undefined;
  try {
    context = render(turn, compiled, locals, own);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    if (loop === null) return failToRender(turn, step.name, run, error);
    // Others of its loop are running: it is one item that fails, and the loop's own policy says what that means.
    unrenderable = error;
    context = { tool_config: {}, args: own, render_context: {} };
  }
  const eventId = turn.world.nextId();
  const id = `${turn.state.executionId}:${step.name}:${eventId}`;
  const commandId = index === undefined ? id : `${id}:i${index}`;
  turn.emit(
    {
      type: 'command.issued',
      commandId,
      step: step.name,
      run,
      toolKind: compiled.toolKind,
      pool: turn.state.pool,
      attempt,
      maxAttempts: step.spec.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
      idempotent: step.spec.idempotent,
      context,
      ...('single' in compiled.tool && compiled.tool.single ? { single: true } : {}),
      ...(loop === null || index === undefined
        ? {}
        : { iteration: { index, total: loop.items.length, loopId: loop.loopId, iterator: loop.iterator } }),
    },
    eventId,
  );
  if (unrenderable !== undefined)
    turn.emit({ type: 'command.failed', commandId, step: step.name, ...templateFailure(unrenderable) });
  return 'running';
}

function failToRender(turn: Turn, step: string, run: number, error: TemplateError): Dispatched {
  turn.emit({ type: 'step.failed', step, run, ...templateFailure(error) });
  return 'failed';
}

function templateFailure({ message }: TemplateError): { error: string; info: ErrorInfo } {
  const info: ErrorInfo = { kind: 'transform', retryable: false, code: 'TEMPLATE_ERROR', message };
  return { error: `Template error: ${message}`, info };
}

function admitted(compiled: CompiledStep, scope: Scope): boolean {
  if (compiled.when !== undefined && !compiled.when.test(scope)) return false;
  return compiled.admit.find((rule) => rule.when.test(scope))?.allow ?? true;
}

function render(turn: Turn, compiled: CompiledStep, locals: Record<string, unknown>, own: JsonObject): CommandContext {
  const scope = executionScope(turn.state, turn.world, locals);
  const args = { ...own, ...objectOf(compiled.input.render(scope)) };
  const { tool } = compiled;
  if ('tasks' in tool) {
    const roots = contextOf(turn.state, turn.world, tool.roots, locals);
    return {
      tool_config: tool.tasks,
      args,
      render_context: tool.wantsContext ? { ...flatContext(turn.state), ...roots } : roots,
    };
  }
  const config: JsonObject = { kind: tool.task.kind };
  for (const part of tool.config) Object.assign(config, objectOf(part.render(scope)));
  const code = tool.task.config.code;
  if (code !== undefined) {
    // Doubled braces may belong to the script itself (an f-string): only names we know make it ours.
    const ours = tool.code !== undefined && [...tool.code.roots].every((root) => scope.get(root) !== undefined);
    config.code = ours && tool.code !== undefined ? tool.code.text(scope) : code;
  }
  const timeout = tool.task.timeoutSeconds ?? compiled.step.spec.timeoutSeconds;
  if (timeout !== undefined) config.timeout = timeout;
  return { tool_config: config, args, render_context: tool.wantsContext ? flatContext(turn.state) : {} };
}

function objectOf(value: Json): JsonObject {
  return isObject(value) ? value : {};
}
