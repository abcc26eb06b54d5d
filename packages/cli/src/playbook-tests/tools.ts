// The tools of a test. Every kind has a stand-in, so nothing reaches the world by accident: it answers with its mock, or runs the tool of
// the worker when that is harmless (`noop`) or was asked for (`--real`). Lists of tools are run by the worker's own code. A tool that takes
// its time suspends itself: the one who runs the command lets the virtual clock pass.
import { isObject, type Json, type JsonObject, type MockAnswer, TOOL_KINDS } from '@noetl/core';
import {
  type AnyTool,
  builtinTools,
  connectionError,
  createTaskSequenceTool,
  type ErrorInfo,
  type ErrorKind,
  noopTool,
  processTimeout,
  type ToolAnswer,
  type ToolCall,
  type ToolRegistry,
  type ToolResult,
  timedOut,
  toolRegistry,
} from '@noetl/worker';
import type { Call, MockCall } from './mocks.js';
import { brief, type Moment } from './timeline.js';

const TASK_SEQUENCE = 'task_sequence';
/** Tells the stand-in which task of a list it is called for. Never seen by a tool or by an author. */
const TASK_FIELD = '__task';

export interface ToolBox {
  isMocked(name: string): boolean;
  /** Undefined: no answer fits, and the test is stopped. */
  answer(name: string, call: MockCall): MockAnswer | undefined;
  called(call: Call): void;
  /** Kinds that run for real. */
  readonly real: ReadonlySet<string>;
  now(): Date;
  /** What happens inside a command, which its events do not tell. */
  noted(moment: Pick<Moment, 'step' | 'text'>): void;
  /** Nothing may run in place of this: the test is stopped. */
  missing(name: string, kind: string): void;
  /** The command goes on when its time has passed. */
  sleeps(commandId: string): void;
}

export function createTools(box: ToolBox): ToolRegistry {
  // Half of the jitter: a growing delay is exactly what the author wrote.
  const lists = createTaskSequenceTool({ now: box.now, random: () => 0.5, suspendAfterMs: 0 });
  const real = toolRegistry([
    noopTool,
    ...(box.real.size > 0 ? builtinTools().filter(({ kind }) => box.real.has(kind)) : []),
  ]);
  return toolRegistry([...TOOL_KINDS.map((kind) => standIn(kind, real.get(kind), box)), listTool(lists, box)]);
}

function standIn(kind: string, real: AnyTool | undefined, box: ToolBox): AnyTool {
  return {
    kind,
    async run(call) {
      const { [TASK_FIELD]: task, ...config } = call.config;
      const own = { ...call, config };
      const name = nameOf(call, task);
      // What a tool suspended itself with belongs to a call that is counted already.
      if (call.resume === undefined) {
        box.called({ name, input: call.input, config });
        noteCall(own, task, box);
      }
      const answer = sleptWith(call.resume) ?? (await answerOf(name, kind, own));
      noteAnswer(own, task, answer, box);
      return answer;
    },
  };

  function answerOf(name: string, kind: string, call: ToolCall): ToolAnswer | Promise<ToolAnswer> {
    if (box.isMocked(name)) return mocked(name, kind, call, box);
    if (real !== undefined) return real.run(call);
    box.missing(name, kind);
    return NOTHING;
  }
}

function noteCall({ step, input, meta }: ToolCall, task: Json | undefined, box: ToolBox): void {
  if (typeof task === 'string' && meta['single'] !== true)
    box.noted({ step, text: `calls ${task} with ${brief(input)}` });
}

/** The events of a command tell how it ended, but not how its tasks and its attempts did. */
function noteAnswer(call: ToolCall, task: Json | undefined, answer: ToolAnswer, box: ToolBox): void {
  if (typeof task !== 'string' || answer.status === 'suspended') return;
  const { step, attempt, meta } = call;
  const single = meta['single'] === true;
  if (answer.status !== 'success')
    box.noted({ step, text: `${single ? `attempt ${attempt}` : task} failed: ${answer.error ?? answer.status}` });
  else if (!single) box.noted({ step, text: `${task} returned ${brief(answer.data ?? null)}` });
}

function listTool(lists: AnyTool, box: ToolBox): AnyTool {
  return {
    kind: TASK_SEQUENCE,
    async run(call) {
      if (call.meta['single'] === true) return lists.run(withTaskNames(call));
      const slept = sleptWith(call.resume);
      if (slept !== undefined) return slept;
      const name = call.step;
      if (call.resume === undefined) box.called({ name, input: call.input, config: {} });
      return box.isMocked(name) ? mocked(name, TASK_SEQUENCE, call, box) : lists.run(withTaskNames(call));
    },
  };
}

/** Never looked at: the test is stopped. */
const NOTHING: ToolResult = { status: 'success', data: null };

function mocked(name: string, kind: string, call: ToolCall, box: ToolBox): ToolAnswer {
  const { input, config, attempt } = call;
  const answer = box.answer(name, { input, config, attempt });
  if (answer === undefined || answer.type === 'run') return NOTHING;
  const after = (delayMs: number, result: ToolResult): ToolAnswer => {
    if (delayMs === 0) return result;
    box.sleeps(call.commandId);
    return { status: 'suspended', delayMs, state: { slept: result }, reason: `'${name}' takes its time` };
  };
  const { takesMs } = answer;
  const { timeoutMs = Number.POSITIVE_INFINITY } = call;
  if (takesMs > timeoutMs) return after(timeoutMs, timedOut(timeoutMs, timeoutInfo(kind, timeoutMs)));
  if (answer.type === 'error') return after(takesMs, failed(kind, answer.error, answer.result));
  return after(takesMs, { status: 'success', data: answer.result });
}

function failed(kind: string, error: JsonObject & { readonly message: string }, data: Json | undefined): ToolResult {
  const info = { kind: 'unknown' as ErrorKind, retryable: false, code: 'MOCKED', source: kind, ...error } as ErrorInfo;
  return { status: 'error', error: error.message, error_info: info, ...(data === undefined ? {} : { data }) };
}

/** As the tool itself would say it. */
function timeoutInfo(kind: string, timeoutMs: number): ErrorInfo {
  if (kind === 'http') return connectionError('ETIMEDOUT', `no complete answer within ${timeoutMs} ms`, kind);
  return processTimeout(timeoutMs, kind, kind === 'python' ? 'PY_TIMEOUT' : 'TIMEOUT');
}

function sleptWith(state: Json | undefined): ToolResult | undefined {
  return isObject(state) && isObject(state['slept']) ? (state['slept'] as ToolResult) : undefined;
}

function nameOf({ step, meta }: ToolCall, task: Json | undefined): string {
  const { cursor } = meta;
  if (typeof task === 'string') return meta['single'] === true ? step : `${step}.${task}`;
  return isObject(cursor) && cursor['phase'] === 'claim' ? `${step}.claim` : step;
}

/** `[{label: spec}]`, where each spec also knows its label. */
function withTaskNames(call: ToolCall): ToolCall {
  const tasks = call.config['tool_config'];
  if (!Array.isArray(tasks)) return call;
  const named = tasks.map((task) => (isObject(task) ? Object.fromEntries(Object.entries(task).map(labelled)) : task));
  return { ...call, config: { ...call.config, tool_config: named } };
}

function labelled([label, spec]: [string, Json]): [string, Json] {
  return [label, isObject(spec) ? { ...spec, [TASK_FIELD]: label } : spec];
}
