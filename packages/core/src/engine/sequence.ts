// A list of tools, or one tool with policy rules, as a single command: its templates are rendered by the worker, task by task, because
// each may use what the one before it returned. The command carries the tasks as they were written, and just the names they mention.
import type { Json, JsonObject } from '../json/types.js';
import type { PolicyRule, Step, Task } from '../playbook/model.js';
import { compileCondition, compileTemplate, compileValue, isTemplate, TemplateError } from '../template/index.js';

export interface Sequence {
  /** `[{label: spec}]`, the form on the wire. */
  readonly tasks: Json[];
  /** Names of the context that the tasks mention. */
  readonly roots: ReadonlySet<string>;
  /** One tool with a policy: its result is not nested under a label. */
  readonly single: boolean;
  /** A script asks for its whole `context`. */
  readonly wantsContext: boolean;
}

/** Undefined when the step is a plain tool, which the server renders itself. */
export function sequenceOf(step: Step): Sequence | undefined {
  const { tool } = step;
  const single = tool.type === 'single';
  const tasks = single ? [tool.task] : tool.tasks;
  // `set` of a tool in a loop belongs to each item, so the worker applies it.
  const plain = single && tool.task.policy.length === 0 && (step.loop === undefined || isEmpty(tool.task.set));
  if (plain) return undefined;
  const roots = new Set<string>();
  for (const task of tasks) collectRoots(task, roots);
  return {
    tasks: tasks.map((task) => ({ [task.label]: wireTask(task, step) })),
    roots,
    single,
    wantsContext: tasks.some((task) => /\b(context|variables)\b/.test(String(task.config.code ?? ''))),
  };
}

function isEmpty(value: JsonObject): boolean {
  return Object.keys(value).length === 0;
}

function wireTask(task: Task, step: Step): JsonObject {
  const timeout = task.timeoutSeconds ?? step.spec.timeoutSeconds;
  return {
    ...task.config,
    kind: task.kind,
    input: task.input,
    set: task.set,
    ...(task.output === undefined ? {} : { output: task.output }),
    spec: {
      ...(timeout === undefined ? {} : { timeout }),
      ...(task.policy.length === 0 ? {} : { policy: { rules: task.policy.map(wireRule) } }),
    },
  };
}

function wireRule(rule: PolicyRule): JsonObject {
  return {
    ...(rule.when === undefined ? {} : { when: rule.when }),
    then: {
      do: rule.action,
      attempts: rule.attempts,
      backoff: rule.backoff,
      delay: rule.delaySeconds,
      ...(rule.to === undefined ? {} : { to: rule.to }),
      set: rule.set,
    },
  };
}

function collectRoots(task: Task, roots: Set<string>): void {
  const add = (names: Iterable<string>) => {
    for (const name of names) roots.add(name);
  };
  const { code, ...config } = task.config;
  add(compileValue(config).roots);
  add(compileValue(task.input).roots);
  add(compileValue(task.set).roots);
  if (typeof code === 'string') add(codeRoots(code));
  for (const rule of task.policy) {
    if (typeof rule.when === 'string') add(compileCondition(rule.when).roots);
    add(compileValue(rule.set).roots);
    add(compileValue([rule.attempts, rule.delaySeconds, rule.to ?? null]).roots);
  }
}

function codeRoots(code: string): Iterable<string> {
  if (!isTemplate(code)) return [];
  try {
    return compileTemplate(code).roots;
  } catch (error) {
    if (error instanceof TemplateError) return []; // the script's own braces
    throw error;
  }
}
