// Issuing a command: rendering happens here and only here. A value that cannot be rendered fails the step, not the playbook, so an error
// arc can handle it; inside a loop it fails one item, and the loop's own policy says what that means.
import { isObject } from '../json/index.js';
import type { Json, JsonObject } from '../json/types.js';
import { parseDurationMs } from './clock.js';
import type { CompiledStep } from './compile.js';
import type { CommandContext, CommandIssued, CursorPart, Park } from './events.js';
import { type ItemPlace, itemArgs, itemLocals } from './item.js';
import { isParkedKind, parkOf } from './park.js';
import { contextOf, executionScope, flatContext } from './scope.js';
import { stepFailure } from './step-error.js';
import type { Turn } from './turn.js';
import { settleParked } from './wait.js';

const DEFAULT_MAX_ATTEMPTS = 3;

/** `done`: it needs no worker at all, like a loop over nothing. */
export type Dispatched = 'running' | 'guarded' | 'failed' | 'done';

/** One item of a loop: where it stands in it, and which part of a cursor it is. */
export interface ItemAt {
  readonly place: ItemPlace;
  readonly loopId: string;
  readonly part?: CursorPart;
}

/** Issues the command of the step's current visit, or of one item of its loop. */
export function issue(turn: Turn, compiled: CompiledStep, attempt: number, item?: ItemAt): Dispatched {
  const { step } = compiled;
  const entered = turn.state.steps[step.name];
  const run = entered?.run ?? 1;
  const args = entered?.args ?? {};
  const locals: Record<string, unknown> = {
    args,
    ...args,
    step_name: step.name,
    ...(item === undefined ? {} : itemLocals(item.place)),
  };
  const own = item === undefined ? {} : itemArgs(item.place);
  let rendered: Rendered;
  let failure: ReturnType<typeof stepFailure>;
  try {
    rendered = render(turn, compiled, locals, own);
  } catch (error) {
    failure = stepFailure(error);
    if (failure === undefined) throw error;
    if (item === undefined) {
      turn.emit({ type: 'step.failed', step: step.name, run, ...failure });
      return 'failed';
    }
    rendered = { context: { tool_config: {}, args: own, render_context: {} } };
  }
  const eventId = turn.world.nextId();
  const id = `${turn.state.executionId}:${step.name}:${eventId}`;
  const commandId = item === undefined ? id : `${id}:i${item.place.index}`;
  const event: CommandIssued = {
    type: 'command.issued',
    commandId,
    step: step.name,
    run,
    toolKind: compiled.toolKind,
    pool: turn.state.pool,
    attempt,
    maxAttempts: step.spec.maxAttempts ?? DEFAULT_MAX_ATTEMPTS,
    idempotent: step.spec.idempotent,
    ...rendered,
    ...('single' in compiled.tool && compiled.tool.single ? { single: true } : {}),
    ...(step.output === undefined ? {} : { output: step.output }),
    ...(item === undefined ? {} : iterationOf(item)),
  };
  turn.emit(event, eventId);
  if (failure !== undefined) turn.emit({ type: 'command.failed', commandId, step: step.name, ...failure });
  else if (event.park !== undefined) settleParked(turn, commandId, event.park, item === undefined);
  if (item !== undefined || turn.state.commands[commandId] !== undefined) return 'running';
  return turn.state.steps[step.name]?.phase === 'failed' ? 'failed' : 'done';
}

function iterationOf({ place, loopId, part }: ItemAt): Pick<CommandIssued, 'iteration' | 'cursor'> {
  const { index, total, iterator } = place;
  return { iteration: { index, total, loopId, iterator }, ...(part === undefined ? {} : { cursor: part }) };
}

type Rendered = Pick<CommandIssued, 'context' | 'park' | 'timeoutMs'>;

function render(turn: Turn, compiled: CompiledStep, locals: Record<string, unknown>, own: JsonObject): Rendered {
  const scope = executionScope(turn.state, turn.world, locals);
  const input = objectOf(compiled.input.render(scope));
  const args = { ...own, ...input };
  const { tool } = compiled;
  const limit = compiled.timeout?.render(scope) ?? null;
  const timeoutMs = limit === null ? undefined : parseDurationMs(limit);
  if ('tasks' in tool) {
    const roots = contextOf(turn.state, turn.world, tool.roots, locals);
    const context = tool.wantsContext ? { ...flatContext(turn.state), ...roots } : roots;
    return withTimeout({ tool_config: tool.tasks, args, render_context: context }, timeoutMs);
  }
  const config: JsonObject = { kind: tool.task.kind };
  for (const part of tool.config) Object.assign(config, objectOf(part.render(scope)));
  const code = tool.task.config.code;
  if (code !== undefined) {
    // Doubled braces may belong to the script itself (an f-string): only names we know make it ours.
    const ours = tool.code !== undefined && [...tool.code.roots].every((root) => scope.get(root) !== undefined);
    config.code = ours && tool.code !== undefined ? tool.code.text(scope) : code;
  }
  if (limit !== null) config.timeout = limit;
  const context = { tool_config: config, args, render_context: tool.wantsContext ? flatContext(turn.state) : {} };
  if (!isParkedKind(compiled.toolKind)) return withTimeout(context, timeoutMs);
  return { context, park: park(turn, compiled.toolKind, config, input) };
}

function park(turn: Turn, kind: 'wait' | 'playbook', config: JsonObject, input: JsonObject): Park {
  const { world, state } = turn;
  return parkOf(kind, config, input, { now: world.now, depth: state.depth, nextId: () => world.nextId() });
}

function withTimeout(context: CommandContext, timeoutMs: number | undefined): Rendered {
  return timeoutMs === undefined ? { context } : { context, timeoutMs };
}

function objectOf(value: Json): JsonObject {
  return isObject(value) ? value : {};
}
