// `tool`: one map, a list of maps, or a list of `label: map` become a single task or a pipeline of tasks.
import type { JsonObject } from '../json/types.js';
import { readInput, readSet, SET_KEYS } from './bindings.js';
import { expectMap, expectText, readMap, readSeconds } from './fields.js';
import { isToolKind, TOOL_KINDS } from './kinds.js';
import type { StepTool, Task } from './model.js';
import { child, type Entry, entriesToJson, isNull, type MapNode, mapToJson, type Node } from './node.js';
import { readEval, readPolicy } from './policy.js';
import { fieldOf, type Scope } from './scope.js';
import { didYouMean } from './suggest.js';
import { checkField, checkTemplates } from './templates.js';
import { resolveWorkbook, type Workbook } from './workbook.js';

/** What the step around the tool contributes to its tasks. */
export interface ToolContext {
  readonly step: string;
  readonly input: JsonObject;
  readonly output: JsonObject | undefined;
  readonly workbook: Workbook;
}

/** Fields that the engine reads; every other field is the tool's own configuration. */
const ENGINE_KEYS: ReadonlySet<string> = new Set([
  'kind',
  'name',
  'input',
  'args',
  'spec',
  'output',
  'eval',
  ...SET_KEYS,
]);
/** Fields of `tool.spec` that are not configuration written one level too deep. */
const SPEC_KEYS: ReadonlySet<string> = new Set(['policy', 'timeout', 'result']);
const STEP_KEYS: ReadonlySet<string> = new Set(['next', 'loop', 'step']);

const MISSING_KIND_HINT = 'write `kind: http`, `kind: python`, … (`kind: noop` for pure routing)';

export function readStepTool(scope: Scope, step: MapNode, context: ToolContext): StepTool | undefined {
  const node = child(step, 'tool');
  if (node === undefined) {
    const message = `${scope.subject}Missing 'tool' field. Every step must have a tool (use 'kind: noop' for pure routing).`;
    scope.report.error('step.no-tool', message, step.entries.get('tool') ?? step, 'add `tool: { kind: noop }`');
    return undefined;
  }
  if (node.type === 'list') return readPipeline(scope, node.items, node, context);
  const tool = expectMap(scope, node, 'write `tool: { kind: … }`, or a list of such tools');
  if (tool === undefined) return undefined;
  const labels = new Set([context.step]);
  const task = readTask(scope, { label: context.step, tool, labels, evalName: 'eval', context });
  return task === undefined ? undefined : { type: 'single', task: withStepOutput(task, context.output) };
}

/** A single tool's `output` settings may stand beside the tool; a key inside it wins. */
function withStepOutput(task: Task, output: JsonObject | undefined): Task {
  return output === undefined ? task : { ...task, output: { ...output, ...task.output } };
}

interface LabelledTool {
  readonly label: string;
  readonly tool: MapNode;
}

function readPipeline(scope: Scope, items: readonly Node[], place: Node, context: ToolContext): StepTool | undefined {
  if (items.length === 0) {
    const message = `${scope.subject}tool pipeline must have at least one task`;
    scope.report.error('tool.empty-pipeline', message, place, 'add `- kind: …`');
    return undefined;
  }
  const labelled = items.flatMap((item, index) => readLabel(scope, item, index));
  const labels = new Set<string>();
  for (const { label, tool } of labelled) {
    if (labels.has(label)) {
      const message = `${scope.subject}Duplicate task label '${label}'`;
      scope.report.error('tool.duplicate-label', message, child(tool, 'name') ?? tool, 'rename one of the tasks');
    }
    labels.add(label);
  }
  const tasks = labelled.flatMap(({ label, tool }) => {
    const task = readTask(scope, { label, tool, labels, evalName: `tool[].${label}.eval`, context });
    return task === undefined ? [] : [task];
  });
  return { type: 'pipeline', tasks };
}

/** `{name, kind, …}` is flat; without `kind` an item is `{label: {kind, …}}`. */
function readLabel(scope: Scope, item: Node, index: number): LabelledTool[] {
  const map = expectMap(scope, item, 'write `- kind: …`');
  if (map === undefined) return [];
  if (map.entries.has('kind')) {
    return [{ label: expectText(scope, child(map, 'name')) ?? `task_${index}`, tool: map }];
  }
  const [only] = map.entries.values();
  if (only !== undefined && map.entries.size === 1 && only.value.type === 'map') {
    return [{ label: only.key, tool: only.value }];
  }
  if (map.entries.has('name') || map.entries.size === 1) {
    scope.report.error('tool.no-kind', `${scope.subject}${fieldOf(map)} must have 'kind'`, map, kindHint(map));
  } else {
    const count = map.entries.size;
    const message = `${scope.subject}pipeline task[${index}] must have exactly one labeled entry (got ${count})`;
    scope.report.error('tool.task-label', message, map, kindHint(map));
  }
  return [];
}

interface TaskSource {
  readonly label: string;
  readonly tool: MapNode;
  readonly labels: ReadonlySet<string>;
  readonly evalName: string;
  readonly context: ToolContext;
}

function readTask(scope: Scope, source: TaskSource): Task | undefined {
  const { label, tool, labels, context } = source;
  const kind = readKind(scope, tool);
  if (kind === undefined) return undefined;
  const own = flatten(scope, tool);
  const isReference = kind === 'workbook';
  const definition = isReference ? resolveWorkbook(scope, tool, context.workbook) : undefined;
  if (isReference && definition === undefined) return undefined;
  const base = definition === undefined ? undefined : flatten(scope, definition);
  const fields = base === undefined ? own : overlay(base, own);
  const finalKind = base === undefined ? kind : readKind(scope, base.tool);
  if (finalKind === undefined) return undefined;

  const policy = { labels, evalName: source.evalName };
  const timeout = fields.timeout;
  const isPhased = timeout?.type === 'map';
  const seconds = isPhased ? undefined : readSeconds(scope, timeout);
  if (timeout !== undefined) checkTemplates(scope, timeout);
  const output = readOutput(scope, fields);
  return {
    label,
    kind: finalKind,
    config: readConfig(scope, fields, finalKind, isPhased ? timeout : undefined),
    input: {
      ...(base && { ...readToolInput(scope, base, finalKind), ...context.input }),
      ...readToolInput(scope, own, finalKind),
    },
    set: readSet(scope, { ...tool, entries: fields.entries }),
    policy: [...readPolicy(scope, fields.policy, policy), ...readEval(scope, presentEntry(fields, 'eval'), policy)],
    ...(seconds !== undefined && { timeoutSeconds: seconds }),
    ...(output !== undefined && { output }),
    at: tool.at,
  };
}

function readKind(scope: Scope, tool: MapNode): string | undefined {
  const node = child(tool, 'kind');
  const kind = expectText(scope, node);
  if (node === undefined) {
    scope.report.error('tool.no-kind', `${scope.subject}${fieldOf(tool)} must have 'kind'`, tool, kindHint(tool));
    return undefined;
  }
  if (kind === undefined || isToolKind(kind)) return kind;
  const hint = didYouMean(kind, TOOL_KINDS, `known kinds: ${TOOL_KINDS.join(', ')}`);
  scope.report.error('tool.unknown-kind', `${scope.subject}unknown tool kind '${kind}'`, node, hint);
  return undefined;
}

function kindHint(tool: MapNode): string {
  const similar = [...tool.entries.keys()].find((key) => didYouMean(key, ['kind']) !== undefined || key === 'type');
  return similar === undefined ? MISSING_KIND_HINT : `did you mean \`kind\` instead of \`${similar}\`?`;
}

/** A tool with the configuration that was written under `spec` lifted beside its other fields, which win. */
interface ToolFields {
  readonly tool: MapNode;
  readonly entries: ReadonlyMap<string, Entry>;
  readonly policy: Node | undefined;
  readonly timeout: Node | undefined;
  readonly result: MapNode | undefined;
}

function flatten(scope: Scope, tool: MapNode): ToolFields {
  const spec = readMap(scope, tool, 'spec');
  const lifted = [...(spec?.entries ?? [])].filter(([key]) => !SPEC_KEYS.has(key));
  return {
    tool,
    entries: new Map([...lifted, ...tool.entries]),
    policy: spec && child(spec, 'policy'),
    timeout: spec && child(spec, 'timeout'),
    result: readMap(scope, spec, 'result'),
  };
}

/** A workbook task under the fields of the tool that refers to it. */
function overlay(base: ToolFields, reference: ToolFields): ToolFields {
  const own = [...reference.entries].filter(([key]) => !REFERENCE_KEYS.has(key));
  return {
    tool: base.tool,
    entries: new Map([...base.entries, ...own]),
    policy: reference.policy ?? base.policy,
    timeout: reference.timeout ?? base.timeout,
    result: reference.result ?? base.result,
  };
}

const REFERENCE_KEYS: ReadonlySet<string> = new Set(['kind', 'name', 'task', 'input', 'args', 'spec']);

function presentEntry(fields: ToolFields, key: string): Node | undefined {
  const value = fields.entries.get(key)?.value;
  return value === undefined || isNull(value) ? undefined : value;
}

/** `args` of a container, and any list under `args`, is a command line and not variables. */
function isCommandLine(fields: ToolFields, kind: string): boolean {
  const args = presentEntry(fields, 'args');
  return args !== undefined && (kind === 'container' || args.type !== 'map');
}

function readToolInput(scope: Scope, fields: ToolFields, kind: string): JsonObject {
  const args = isCommandLine(fields, kind) ? undefined : presentEntry(fields, 'args');
  return readInput(scope, presentEntry(fields, 'input'), args);
}

function readConfig(scope: Scope, fields: ToolFields, kind: string, phasedTimeout: MapNode | undefined): JsonObject {
  const config = [...fields.entries.values()].filter(
    (entry) => !ENGINE_KEYS.has(entry.key) || (entry.key === 'args' && isCommandLine(fields, kind)),
  );
  for (const entry of config) {
    if (STEP_KEYS.has(entry.key)) {
      const message = `${scope.subject}key \`${entry.key}\` has no effect inside a tool`;
      scope.report.warning('playbook.misplaced-key', message, entry, 'move it to the step (check the indentation)');
    }
    checkField(scope, entry.key, entry.value);
  }
  // `timeout: {connect, read}` is the tool's business; a single number is the engine's.
  const timeout = phasedTimeout === undefined ? {} : { timeout: mapToJson(phasedTimeout) };
  return { ...timeout, ...entriesToJson(config) };
}

/** Result handling: `output`, and the older `spec.result` under it. */
function readOutput(scope: Scope, fields: ToolFields): JsonObject | undefined {
  const output = expectMap(scope, presentEntry(fields, 'output'));
  for (const part of [fields.result, output]) if (part !== undefined) checkTemplates(scope, part);
  if (output === undefined && fields.result === undefined) return undefined;
  return { ...(fields.result && mapToJson(fields.result)), ...(output && mapToJson(output)) };
}
