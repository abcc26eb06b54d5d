// Starting a step: its guard, its visit number, and the command a worker will claim. Rendering happens here and only here; a
// value that cannot be rendered fails the step, not the playbook, so an error arc can handle it.
import { isObject } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import { type Scope, TemplateError } from '../template/index.js';
import type { CompiledStep } from './compile.js';
import type { CommandContext, ErrorInfo } from './events.js';
import { executionScope, flatContext } from './scope.js';
import type { Turn } from './turn.js';

const DEFAULT_MAX_ATTEMPTS = 3;

export type Dispatched = 'running' | 'guarded' | 'failed';

export function dispatch(turn: Turn, compiled: CompiledStep): Dispatched {
  const { step } = compiled;
  const run = (turn.state.steps[step.name]?.run ?? 0) + 1;
  const args = turn.state.waiting[step.name] ?? {};
  const scope = executionScope(turn.state, turn.world, { args, ...args, step_name: step.name });
  if (!admitted(compiled, scope)) {
    turn.emit({ type: 'step.skipped', step: step.name, run, reason: 'guard' });
    return 'guarded';
  }
  turn.emit({ type: 'step.enter', step: step.name, run });
  return issue(turn, compiled, 1);
}

/** Issues the command of the step's current visit. */
export function issue(turn: Turn, compiled: CompiledStep, attempt: number): Dispatched {
  const { step, task } = compiled;
  const entered = turn.state.steps[step.name];
  const run = entered?.run ?? 1;
  const args = entered?.args ?? {};
  const scope = executionScope(turn.state, turn.world, { args, ...args, step_name: step.name });
  let context: CommandContext;
  try {
    context = render(turn, compiled, scope);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const info: ErrorInfo = { kind: 'transform', retryable: false, code: 'TEMPLATE_ERROR', message: error.message };
    turn.emit({ type: 'step.failed', step: step.name, run, error: `Template error: ${error.message}`, info });
    return 'failed';
  }
  const eventId = turn.world.nextId();
  turn.emit(
    {
      type: 'command.issued',
      commandId: `${turn.state.executionId}:${step.name}:${eventId}`,
      step: step.name,
      run,
      toolKind: task.task.kind,
      pool: turn.state.pool,
      attempt,
      maxAttempts: step.spec.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
      idempotent: step.spec.idempotent,
      context,
    },
    eventId,
  );
  return 'running';
}

function admitted(compiled: CompiledStep, scope: Scope): boolean {
  if (compiled.when !== undefined && !compiled.when.test(scope)) return false;
  return compiled.admit.find((rule) => rule.when.test(scope))?.allow ?? true;
}

function render(turn: Turn, compiled: CompiledStep, scope: Scope): CommandContext {
  const { task } = compiled;
  const input = task.input.render(scope);
  const config: JsonObject = { kind: task.task.kind, ...objectOf(task.config.render(scope)) };
  const code = task.task.config.code;
  if (code !== undefined) {
    // Doubled braces may belong to the script itself (an f-string): only names we know make it ours.
    const ours = task.code !== undefined && [...task.code.roots].every((root) => scope.get(root) !== undefined);
    config.code = ours && task.code !== undefined ? task.code.text(scope) : code;
  }
  const timeout = task.task.timeoutSeconds ?? compiled.step.spec.timeoutSeconds;
  if (timeout !== undefined) config.timeout = timeout;
  return {
    tool_config: config,
    args: objectOf(input),
    render_context: task.wantsContext ? flatContext(turn.state) : {},
  };
}

function objectOf(value: Json): JsonObject {
  return isObject(value) ? value : {};
}
