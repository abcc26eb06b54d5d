// Reads the `tests` block. Only those who run tests ask for it: a mistake in a test must never keep a playbook from being registered or
// run. Here a word that nothing understands is an error, because a check that is silently ignored is worse than none.
import { parseTime } from '../engine/clock.js';
import type { JsonObject } from '../json/types.js';
import { expectList, expectMap, expectText, readMap, readObject } from './fields.js';
import type { Step } from './model.js';
import { child, type MapNode, toJson } from './node.js';
import { fieldOf, type Scope } from './scope.js';
import { readExpectation } from './test-expect.js';
import { readDurationMs, readNames, refuseUnknownKeys } from './test-fields.js';
import { readMocks } from './test-mocks.js';
import type { PlaybookTest, TestSignal } from './test-model.js';
import { checkTestNames } from './test-names.js';

const TEST_KEYS = ['name', 'payload', 'env', 'now', 'mocks', 'playbooks', 'signals', 'cancel_after', 'expect'];
const SIGNAL_KEYS = ['name', 'after', 'payload'];
const TEST_HINT = 'write `- name: what it shows` with `expect: { … }`';
/** The same for everybody, so that a test without `now` gives the same answer on every day. */
const NEW_YEAR = '2030-01-01T00:00:00.000Z';

export function readTests(playbookScope: Scope, root: MapNode, steps: readonly Step[]): PlaybookTest[] {
  // Templates of mocks see other names than those of steps.
  const scope: Scope = { ...playbookScope, mentions: [] };
  const seen = new Map<string, number>();
  const tests = (expectList(scope, child(root, 'tests'), TEST_HINT)?.items ?? []).flatMap((item): PlaybookTest[] => {
    const map = expectMap(scope, item, TEST_HINT);
    const test = map && readTest(scope, map);
    if (test === undefined) return [];
    const earlier = seen.get(test.name);
    if (earlier !== undefined) {
      const hint = `the first one is on line ${earlier}; rename one of them`;
      scope.report.error('test.duplicate', `Two tests are called '${test.name}'`, test, hint);
    }
    seen.set(test.name, earlier ?? test.at.line);
    return [test];
  });
  checkTestNames(tests, steps, scope.report);
  return tests;
}

function readTest(scope: Scope, map: MapNode): PlaybookTest | undefined {
  const name = expectText(scope, child(map, 'name'))?.trim();
  if (!name) {
    scope.report.error('test.no-name', `${fieldOf(map)} has no \`name\``, map, TEST_HINT);
    return undefined;
  }
  const inner: Scope = { ...scope, subject: `Test '${name}': ` };
  refuseUnknownKeys(inner, map, TEST_KEYS);
  const cancelAfterMs = readDurationMs(inner, child(map, 'cancel_after'));
  return {
    name,
    path: map.path,
    at: map.at,
    payload: readObject(inner, map, 'payload') ?? {},
    env: readEnv(inner, map),
    now: readNow(inner, map),
    mocks: readMocks(inner, readMap(inner, map, 'mocks', 'write `mocks: { step: { result: … } }`')),
    playbooks: readNames(inner, child(map, 'playbooks')),
    signals: readSignals(inner, map),
    ...(cancelAfterMs === undefined ? {} : { cancelAfterMs }),
    expect: readExpectation(inner, map),
  };
}

/** Environment variables are text, however they are written. */
function readEnv(scope: Scope, map: MapNode): JsonObject {
  const env = readMap(scope, map, 'env');
  const pairs = [...(env?.entries.values() ?? [])].map(({ key, value }) => [key, expectText(scope, value) ?? '']);
  return Object.fromEntries(pairs);
}

function readNow(scope: Scope, map: MapNode): string {
  const node = child(map, 'now');
  if (node === undefined) return NEW_YEAR;
  const time = node.type === 'scalar' ? parseTime(node.text) : undefined;
  if (time !== undefined) return time;
  const message = `${scope.subject}\`now\` is not a time`;
  scope.report.error('test.time', message, node, 'write 2030-01-31T08:00:00Z');
  return NEW_YEAR;
}

function readSignals(scope: Scope, map: MapNode): TestSignal[] {
  const hint = 'write `signals: [ { name: approve, after: 2m } ]`';
  return (expectList(scope, child(map, 'signals'), hint)?.items ?? []).flatMap((item): TestSignal[] => {
    const signal = expectMap(scope, item, hint);
    if (signal === undefined) return [];
    refuseUnknownKeys(scope, signal, SIGNAL_KEYS);
    const name = expectText(scope, child(signal, 'name'));
    if (name === undefined) {
      scope.report.error('test.signal', `${scope.subject}${fieldOf(signal)} has no \`name\``, signal, hint);
      return [];
    }
    const payload = child(signal, 'payload');
    return [
      {
        name,
        path: signal.path,
        at: signal.at,
        afterMs: readDurationMs(scope, child(signal, 'after')) ?? 0,
        payload: payload === undefined ? null : toJson(payload),
      },
    ];
  });
}
