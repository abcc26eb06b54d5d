// `workbook`: named tools that steps and pipeline items refer to with `kind: workbook`. References are resolved while parsing,
// so nothing after the parser knows workbooks exist.
import { expectMap, readMap, readText } from './fields.js';
import { isToolKind, TOOL_KINDS } from './kinds.js';
import { child, type MapNode, type Node, type Place } from './node.js';
import { fieldOf, type Scope } from './scope.js';
import { didYouMean } from './suggest.js';

/** Tools by name; `undefined` marks a definition whose problem is already reported. */
export type Workbook = ReadonlyMap<string, MapNode | undefined>;

const HINT = 'write `- name: my_task` with `tool: { kind: … }`';

export function readWorkbook(scope: Scope, root: MapNode): Workbook {
  const tasks = new Map<string, MapNode | undefined>();
  const define = (name: string | undefined, tool: MapNode | undefined, place: Place): void => {
    if (name === undefined) {
      scope.report.error('workbook.name', `${fieldOf(place)} must have a 'name'`, place, HINT);
    } else if (tasks.has(name)) {
      scope.report.error('workbook.duplicate', `Duplicate workbook action: ${name}`, place, 'rename one of them');
    } else {
      tasks.set(name, tool);
    }
  };
  const workbook = child(root, 'workbook');
  const list = workbook?.type === 'map' ? (child(workbook, 'tasks') ?? workbook) : workbook;
  if (list?.type === 'list') {
    for (const item of list.items) {
      const task = expectMap(scope, item, HINT);
      if (task === undefined) continue;
      const name = readText(scope, task, 'name');
      define(name, readTool(scope, task), child(task, 'name') ?? task);
    }
  } else if (list?.type === 'map') {
    for (const entry of list.entries.values()) {
      const task = expectMap(scope, entry.value, HINT);
      define(entry.key, task === undefined ? undefined : readTool(scope, task), entry);
    }
  } else {
    expectMap(scope, list, HINT);
  }
  return tasks;
}

/** The tool is under `tool`, or the task is the tool itself (it has a `kind`). */
function readTool(scope: Scope, task: MapNode): MapNode | undefined {
  const hasTool = child(task, 'tool') !== undefined;
  const tool = hasTool ? readMap(scope, task, 'tool', 'a workbook task is one tool, not a pipeline') : task;
  if (tool === undefined) return undefined;
  const kind = child(tool, 'kind');
  if (kind === undefined) {
    scope.report.error('workbook.tool', `${fieldOf(task)} must have a 'tool' with a 'kind'`, task, HINT);
    return undefined;
  }
  return isUsableKind(scope, kind) ? tool : undefined;
}

function isUsableKind(scope: Scope, node: Node): boolean {
  const kind = node.type === 'scalar' ? node.text : '';
  if (kind === 'workbook') {
    const message = `${fieldOf(node)}: a workbook task cannot refer to another workbook task`;
    scope.report.error('workbook.nested', message, node, 'name the tool kind that does the work');
    return false;
  }
  if (!isToolKind(kind)) {
    const message = `${fieldOf(node)}: unknown tool kind '${kind}'`;
    scope.report.error('tool.unknown-kind', message, node, didYouMean(kind, TOOL_KINDS, 'see docs for tool kinds'));
    return false;
  }
  return true;
}

/** The definition that a `kind: workbook` tool names; a problem is reported and answered with `undefined`. */
export function resolveWorkbook(scope: Scope, reference: MapNode, workbook: Workbook): MapNode | undefined {
  // In a flat pipeline item `name` is the label, so `task` names the action when both are written.
  const key = child(reference, 'task') === undefined ? 'name' : 'task';
  const name = readText(scope, reference, key);
  if (name === undefined) {
    const message = `${scope.subject}tool.kind=workbook requires a 'name' field referencing a workbook action`;
    scope.report.error('workbook.reference', message, reference, `write \`name:\` with one of ${available(workbook)}`);
    return undefined;
  }
  if (!workbook.has(name)) {
    const place = child(reference, key) ?? reference;
    const message = `${scope.subject}workbook action '${name}' not found in playbook.workbook[] (available: ${available(workbook)})`;
    scope.report.error(
      'workbook.unknown',
      message,
      place,
      didYouMean(name, workbook.keys(), 'add a task with this name to `workbook`'),
    );
  }
  return workbook.get(name);
}

function available(workbook: Workbook): string {
  return `[${[...workbook.keys()].join(', ')}]`;
}
