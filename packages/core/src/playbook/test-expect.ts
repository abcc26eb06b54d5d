// Reads the `expect` of a test. Without a word about the status the execution is expected to complete, or to fail when an error is
// expected: a test that says little still fails when the playbook does.
import type { JsonObject } from '../json/types.js';
import { expectList, expectMap, readMap, readObject, readText } from './fields.js';
import { child, type MapNode, type Node, toJson } from './node.js';
import { fieldOf, type Scope } from './scope.js';
import { didYouMean } from './suggest.js';
import { readDurationMs, readNames, refuseUnknownKeys } from './test-fields.js';
import type { Expectation, ExpectedStatus, Named } from './test-model.js';

const EXPECT_KEYS = [
  'status',
  'path',
  'visited',
  'not_visited',
  'skipped',
  'result',
  'steps',
  'ctx',
  'calls',
  'calls_with',
  'error',
  'duration',
];
const STATUSES: readonly ExpectedStatus[] = ['COMPLETED', 'FAILED', 'CANCELLED', 'RUNNING'];

export function readExpectation(scope: Scope, test: MapNode): Expectation {
  const map = readMap(scope, test, 'expect');
  if (map === undefined) {
    if (child(test, 'expect') === undefined) {
      scope.report.error('test.no-expect', `${scope.subject}it expects nothing`, test, 'add `expect: { … }`');
    }
    return { ...NOTHING, at: test.at };
  }
  refuseUnknownKeys(scope, map, EXPECT_KEYS);
  const error = readText(scope, map, 'error');
  if (error !== undefined) checkPattern(scope, child(map, 'error'), error);
  const names = (key: string): Named[] => readNames(scope, child(map, key));
  const steps = readPath(scope, map);
  const result = map.entries.get('result');
  const ctx = readObject(scope, map, 'ctx');
  const durationMs = readDurationMs(scope, child(map, 'duration'));
  return {
    at: map.at,
    status: readStatus(scope, map) ?? (error === undefined ? 'COMPLETED' : 'FAILED'),
    visited: names('visited'),
    notVisited: names('not_visited'),
    skipped: names('skipped'),
    steps: entriesOf(scope, map, 'steps').map(({ value, ...name }) => ({ ...name, value: toJson(value) })),
    calls: readCalls(scope, map),
    callsWith: readCallsWith(scope, map),
    ...(steps === undefined ? {} : { path: steps }),
    ...(result === undefined ? {} : { result: toJson(result.value) }),
    ...(ctx === undefined ? {} : { ctx }),
    ...(error === undefined ? {} : { error }),
    ...(durationMs === undefined ? {} : { durationMs }),
  };
}

const NOTHING = {
  status: 'COMPLETED',
  visited: [],
  notVisited: [],
  skipped: [],
  steps: [],
  calls: [],
  callsWith: [],
} as const;

function readStatus(scope: Scope, map: MapNode): ExpectedStatus | undefined {
  const word = readText(scope, map, 'status');
  const node = child(map, 'status');
  if (word === undefined || node === undefined) return undefined;
  const status = STATUSES.find((known) => known === word.toUpperCase());
  if (status === undefined) {
    const message = `${scope.subject}an execution never has the status '${word}'`;
    scope.report.error('test.status', message, node, didYouMean(word, STATUSES, `one of ${STATUSES.join(', ')}`));
  }
  return status;
}

function readPath(scope: Scope, map: MapNode): (Named | Named[])[] | undefined {
  const list = expectList(scope, child(map, 'path'), 'write `path: [start, fetch, end]`');
  return list?.items.flatMap((item): (Named | Named[])[] =>
    item.type === 'list' ? [readNames(scope, item)] : readNames(scope, item),
  );
}

function readCalls(scope: Scope, map: MapNode): Expectation['calls'] {
  return entriesOf(scope, map, 'calls').flatMap(({ value, ...name }) => {
    const count = toJson(value);
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return [{ ...name, count }];
    const message = `${scope.subject}${fieldOf(value)} must be a number of calls`;
    scope.report.error('test.count', message, value, 'write 0, 1, 2, …');
    return [];
  });
}

function readCallsWith(scope: Scope, map: MapNode): Expectation['callsWith'] {
  const hint = 'write `[ { input: { … } } ]`, one for each call';
  return entriesOf(scope, map, 'calls_with').flatMap(({ value, ...name }) => {
    const list = expectList(scope, value, hint);
    const calls = list?.items.flatMap((item): JsonObject[] => {
      const call = expectMap(scope, item, hint);
      if (call === undefined) return [];
      refuseUnknownKeys(scope, call, ['input', 'config']);
      return [toJson(call) as JsonObject];
    });
    return calls === undefined ? [] : [{ ...name, calls }];
  });
}

function entriesOf(scope: Scope, map: MapNode, key: string): (Named & { readonly value: Node })[] {
  const entries = readMap(scope, map, key)?.entries.values() ?? [];
  return [...entries].map(({ key: name, path, at, value }) => ({ name, path, at, value }));
}

function checkPattern(scope: Scope, node: Node | undefined, text: string): void {
  const source = /^\/(.*)\/$/s.exec(text)?.[1];
  if (source === undefined || node === undefined) return;
  try {
    new RegExp(source, 'u');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    scope.report.error('test.pattern', `${scope.subject}${reason}`, node, 'write a part of the message instead');
  }
}
