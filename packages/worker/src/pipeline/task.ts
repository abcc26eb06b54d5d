// One task of a sequence, read from the command and rendered for one execution. Every template is rendered exactly once,
// against what is known at that moment: data that happens to contain braces stays data.
import {
  compileValue,
  isObject,
  type Json,
  type JsonObject,
  type Scope,
  type Template,
  type ValueTemplate,
} from '@noetl/core';
import { declaredTimeoutMs } from '../tools/config.js';
import { configurationError } from '../tools/errors.js';
import type { ToolCall } from '../tools/tool.js';
import {
  type Assignment,
  type ConfigTemplate,
  compileAssignments,
  compileCode,
  compileConfig,
  namingTask,
} from './compile.js';
import { compileRules, type Rule } from './policy.js';
import type { Variables } from './variables.js';

export const TASK_SEQUENCE = 'task_sequence';

export interface Task {
  readonly label: string;
  readonly kind: string;
  readonly input: ValueTemplate;
  readonly config: ConfigTemplate;
  readonly code: { readonly source: string; readonly template: Template | undefined } | undefined;
  readonly set: readonly Assignment[];
  readonly rules: readonly Rule[];
}

export interface Visit {
  readonly attempt: number;
  /** The same for an execution that repeats a failed one, another for one that does something new. */
  readonly idempotencyKey: string;
  readonly startedAt: Date;
  /** What the tool suspended this visit with, when it did. */
  readonly resume: Json | undefined;
}

/** `[{label: spec}]`, or `{tasks: […]}`, with items that carry their label as key or as `name`. */
export function readTasks(config: JsonObject): Task[] {
  const list = config['tool_config'] ?? config['tasks'];
  if (!Array.isArray(list) || list.length === 0) {
    throw configurationError(TASK_SEQUENCE, 'a list with at least one task is required');
  }
  const tasks = list.map(readTask);
  const labels = new Set<string>();
  for (const { label } of tasks) {
    if (labels.has(label)) throw configurationError(TASK_SEQUENCE, `two tasks are called '${label}'`);
    labels.add(label);
  }
  return tasks;
}

/** The task's own inputs, which see the context as it was before them. */
export function renderInput(task: Task, variables: Variables, attempt: number): JsonObject {
  return namingTask(task.label, () => objectOf(task.input.render(variables.scope(placeOf(task, attempt)))));
}

/** Names that the task adds to the context while it runs: in its configuration, its `set` and its rules. */
export function localsOf(task: Task, parent: ToolCall, own: JsonObject, attempt: number): Record<string, unknown> {
  const input = { ...parent.input, ...own };
  const args = { ...objectOf(parent.context['args']), ...input };
  return { input, args, ...own, ...placeOf(task, attempt) };
}

/** What the tool of the task is called with. */
export function prepare(task: Task, parent: ToolCall, variables: Variables, own: JsonObject, visit: Visit): ToolCall {
  return namingTask(task.label, () => {
    const scope = variables.scope(localsOf(task, parent, own, visit.attempt));
    const config: JsonObject = { kind: task.kind, ...task.config.render(scope) };
    if (task.code !== undefined) config['code'] = codeFor(task.code, scope);
    const timeoutMs = declaredTimeoutMs(config);
    const { timeoutMs: _, resume: __, ...shared } = parent;
    return {
      ...shared,
      config,
      input: { ...parent.input, ...own },
      // A script that never asks for its context is spared the copy.
      context: task.code === undefined || readsContext(task.code.source) ? variables.plain() : {},
      attempt: visit.attempt,
      idempotencyKey: visit.idempotencyKey,
      ...(visit.resume === undefined ? {} : { resume: visit.resume }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
  });
}

function placeOf(task: Task, attempt: number): { _task: string; _attempt: number } {
  return { _task: task.label, _attempt: attempt };
}

function readTask(item: Json, index: number): Task {
  if (!isObject(item)) throw configurationError(TASK_SEQUENCE, `task ${index} must be a mapping`);
  if (typeof item['kind'] === 'string') {
    const { name, ...spec } = item;
    return compileTask(typeof name === 'string' && name !== '' ? name : `task_${index}`, spec);
  }
  const entries = Object.entries(item);
  const [label, spec] = entries[0] ?? [];
  if (entries.length !== 1 || label === undefined || !isObject(spec)) {
    throw configurationError(TASK_SEQUENCE, `task ${index} must have exactly one label`);
  }
  return compileTask(label, spec);
}

function compileTask(label: string, task: JsonObject): Task {
  const { kind, input, args, set, spec, output: _output, eval: legacyRules, code, ...fields } = task;
  if (typeof kind !== 'string') throw configurationError(TASK_SEQUENCE, `task '${label}' has no kind`);
  // Its own tasks would be rendered before their turn.
  if (kind === TASK_SEQUENCE) throw configurationError(TASK_SEQUENCE, `task '${label}' cannot be a list of tasks`);
  const settings = objectOf(spec);
  const script = typeof code === 'string' ? code : undefined;
  const config: JsonObject = { ...fields };
  if (code !== undefined && script === undefined) config['code'] = code;
  // For a container `args` is its argument vector; everywhere else it is the older name of `input`.
  const isContainer = kind === 'container';
  if (isContainer && args !== undefined) config['args'] = args;
  if (settings['timeout'] !== undefined) config['timeout'] = settings['timeout'];
  return namingTask(label, () => ({
    label,
    kind,
    input: compileValue(isContainer ? (input ?? {}) : (input ?? args ?? {})),
    config: compileConfig(config),
    code: script === undefined ? undefined : { source: script, template: compileCode(script) },
    set: compileAssignments(set),
    rules: compileRules(settings['policy'] ?? legacyRules),
  }));
}

/** Doubled braces may belong to the script itself (an f-string): only names we know make it ours. */
function codeFor({ source, template }: NonNullable<Task['code']>, scope: Scope): string {
  if (template === undefined) return source;
  return [...template.roots].every((root) => scope.get(root) !== undefined) ? template.text(scope) : source;
}

function readsContext(source: string): boolean {
  return /\b(context|variables)\b/.test(source);
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
