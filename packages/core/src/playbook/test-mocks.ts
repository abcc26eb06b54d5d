// Reads the `mocks` of a test: for each step (or task of its list) one answer, or a list of them.
import type { Json, JsonObject } from '../json/types.js';
import { expectMap, readMap } from './fields.js';
import { child, describe, type MapNode, mapToJson, type Node, toJson } from './node.js';
import { fieldOf, type Scope } from './scope.js';
import { checkTemplates, readCondition } from './templates.js';
import { readDurationMs, refuseUnknownKeys } from './test-fields.js';
import type { Mock, MockAnswer } from './test-model.js';

const ANSWER_KEYS = ['when', 'result', 'error', 'takes', 'run', 'mocks'];
const ANSWER_HINT = 'write `{ result: … }`, `{ error: … }`, or a list of them';

export function readMocks(scope: Scope, map: MapNode | undefined): Mock[] {
  return [...(map?.entries.values() ?? [])].map(({ key, path, at, value }) => {
    const items = value.type === 'list' ? value.items : [value];
    const answers = items.flatMap((item) => readAnswer(scope, item) ?? []);
    if (items.length === 0) {
      scope.report.error('test.mock', `${scope.subject}the mock of '${key}' has no answer`, value, ANSWER_HINT);
    }
    return { name: key, path, at, answers };
  });
}

function readAnswer(scope: Scope, node: Node): MockAnswer | undefined {
  const map = expectMap(scope, node, ANSWER_HINT);
  if (map === undefined) return undefined;
  refuseUnknownKeys(scope, map, ANSWER_KEYS);
  const condition = readCondition(scope, child(map, 'when'), 'the `when` of a mock is not a condition');
  const when = condition === undefined ? {} : { when: condition };
  const result = readResult(scope, map);
  const takesMs = readDurationMs(scope, child(map, 'takes')) ?? 0;
  const error = readError(scope, map);
  const run = child(map, 'run');
  const kinds = [run !== undefined, result !== undefined || error !== undefined].filter(Boolean).length;
  if (kinds !== 1) {
    const message = `${scope.subject}${fieldOf(map)} must have one of \`result\`, \`error\` and \`run\``;
    scope.report.error('test.mock', message, map, ANSWER_HINT);
    return undefined;
  }
  if (run !== undefined) {
    if (run.type !== 'scalar' || run.value !== true) {
      const message = `${scope.subject}\`run\` must be true, found ${describe(run)}`;
      scope.report.error('test.mock', message, run, 'remove it and write a `result`, or write `run: true`');
    }
    return { type: 'run', ...when, mocks: readMocks(scope, readMap(scope, map, 'mocks')) };
  }
  if (error !== undefined)
    return { type: 'error', ...when, error, takesMs, ...(result === undefined ? {} : { result }) };
  return { type: 'result', ...when, takesMs, result: result ?? null };
}

/** `result:` with nothing behind it is a result: null. */
function readResult(scope: Scope, map: MapNode): Json | undefined {
  const entry = map.entries.get('result');
  if (entry === undefined) return undefined;
  checkTemplates(scope, entry.value);
  return toJson(entry.value);
}

/** Text, or the fields of an error as a tool tells them: message, kind, code, retryable, http_status, … */
function readError(scope: Scope, map: MapNode): (JsonObject & { message: string }) | undefined {
  const node = child(map, 'error');
  if (node === undefined) return undefined;
  if (node.type === 'scalar') return { message: node.text };
  const fields = node.type === 'map' ? mapToJson(node) : {};
  const { message } = fields;
  if (typeof message === 'string') return { ...fields, message };
  const complaint = `${scope.subject}${fieldOf(node)} has no \`message\``;
  scope.report.error('test.mock', complaint, node, 'write `error: { message: busy, kind: server_error }`');
  return { ...fields, message: '' };
}
