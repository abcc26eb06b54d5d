// `loop`: over a collection (`in`) or over rows claimed from a table (`cursor`).
import { readCount, readMap, readObject, readText, warnUnknownKeys } from './fields.js';
import type { Loop } from './model.js';
import { child, type MapNode, mapToJson, type Node, toJson } from './node.js';
import { fieldOf, type Scope } from './scope.js';
import { didYouMean } from './suggest.js';
import { checkTemplates } from './templates.js';

const MODES = ['sequential', 'parallel', 'cursor'] as const;
const MODE_TITLES = { sequential: 'Sequential', parallel: 'Parallel', cursor: 'Cursor' } as const;
const LOOP_KEYS = ['in', 'iterator', 'cursor', 'spec', 'desc'];
/** Often written directly under `loop`; honoured there, with a warning. */
const SPEC_KEYS = ['mode', 'max_in_flight', 'frame', 'on_error', 'policy'];
const MAX_IN_FLIGHT = 'loop.spec.max_in_flight must be a positive integer or renderable expression';

export function readLoop(scope: Scope, step: MapNode): Loop | undefined {
  const loop = readMap(scope, step, 'loop', 'write `loop: { in: "{{ … }}", iterator: item }`');
  if (loop === undefined) return undefined;
  warnUnknownKeys(scope, loop, {
    code: 'loop.unknown-key',
    known: LOOP_KEYS,
    misplaced: (key) => (SPEC_KEYS.includes(key) ? 'loop.spec' : undefined),
    report: 'all',
  });
  const spec = readMap(scope, loop, 'spec');
  const field = (key: string): Node | undefined => (spec && child(spec, key)) ?? child(loop, key);

  const cursor = readMap(scope, loop, 'cursor', 'write `cursor: { kind: postgres, auth: …, claim: "<SQL>" }`');
  const mode = readMode(scope, field('mode')) ?? (cursor === undefined ? 'sequential' : 'cursor');
  const collection = child(loop, 'in');
  checkSource(scope, loop, mode, cursor, collection);
  if (collection !== undefined) checkCollection(scope, collection);
  if (cursor !== undefined) checkTemplates(scope, cursor);

  const maxInFlight = field('max_in_flight');
  const count = readCount(scope, maxInFlight, MAX_IN_FLIGHT);
  if (maxInFlight !== undefined) checkTemplates(scope, maxInFlight);
  const frame = readObject(scope, spec, 'frame') ?? readObject(scope, loop, 'frame') ?? {};
  const frameNode = field('frame');
  if (frameNode !== undefined) checkTemplates(scope, frameNode);

  return {
    iterator: readIterator(scope, loop),
    mode,
    ...(collection !== undefined && { in: toJson(collection) }),
    ...(count !== undefined && { maxInFlight: count }),
    onError: readOnError(scope, spec, field('on_error')),
    ...(cursor !== undefined && { cursor: mapToJson(cursor) }),
    frame,
  };
}

function readIterator(scope: Scope, loop: MapNode): string {
  const iterator = readText(scope, loop, 'iterator')?.trim() ?? '';
  if (iterator === '') {
    const place = loop.entries.get('iterator') ?? loop;
    const message = `${scope.subject}loop.iterator must not be empty`;
    scope.report.error('loop.iterator', message, place, 'name the variable of one item: `iterator: item`');
  }
  return iterator;
}

function readMode(scope: Scope, node: Node | undefined): Loop['mode'] | undefined {
  if (node === undefined) return undefined;
  const word = node.type === 'scalar' ? node.text.toLowerCase() : '';
  const mode = MODES.find((known) => known === word);
  if (mode === undefined) {
    const message = `${scope.subject}${fieldOf(node)} must be one of ${MODES.join(', ')} (got '${word}')`;
    scope.report.error('loop.mode', message, node, didYouMean(word, MODES, 'write `sequential` or `parallel`'));
  }
  return mode;
}

function checkSource(
  scope: Scope,
  loop: MapNode,
  mode: Loop['mode'],
  cursor: MapNode | undefined,
  collection: Node | undefined,
): void {
  const fail = (message: string, hint: string): void =>
    scope.report.error('loop.source', `${scope.subject}${message}`, loop, hint);
  if (cursor !== undefined && collection !== undefined) {
    fail("loop must specify either 'in' or 'cursor', not both", 'remove one of them');
  } else if (mode === 'cursor') {
    const claim = cursor === undefined ? undefined : child(cursor, 'claim');
    if (claim === undefined) {
      fail(
        'loop.spec.mode=cursor requires a loop.cursor block with a claim query',
        'write `cursor: { kind: postgres, auth: …, claim: "UPDATE … RETURNING …" }`',
      );
    }
  } else if (cursor !== undefined) {
    fail(`loop.cursor needs mode cursor, not ${mode}`, 'write `spec: { mode: cursor }`');
  } else if (collection === undefined) {
    fail(
      `loop requires \`in:\` (the collection expression) for mode=${MODE_TITLES[mode]}`,
      'write `in: "{{ … }}"` or a list',
    );
  }
}

function checkCollection(scope: Scope, node: Node): void {
  const empty = node.type === 'scalar' && typeof node.value === 'string' && node.value.trim() === '';
  if (empty || (node.type === 'scalar' && typeof node.value === 'boolean')) {
    const reason = empty ? 'the expression is empty' : 'a boolean is not a collection';
    const message = `${scope.subject}loop.in has invalid expression: ${reason}`;
    scope.report.error('loop.in', message, node, 'write `in: "{{ … }}"` or a list');
  }
  checkTemplates(scope, node, false, 'loop.in has invalid expression');
}

function readOnError(scope: Scope, spec: MapNode | undefined, direct: Node | undefined): Loop['onError'] {
  const policy = readMap(scope, spec, 'policy');
  const node = (policy && child(policy, 'on_error')) ?? direct;
  if (node === undefined) return 'stop';
  const word = node.type === 'scalar' ? node.text.toLowerCase() : '';
  if (word === 'stop' || word === 'continue' || word === 'fail_fast') return word;
  if (word === 'fail') return 'stop';
  const choices = ['stop', 'continue', 'fail_fast'];
  const message = `${scope.subject}${fieldOf(node)} must be one of ${choices.join(', ')} (got '${word}')`;
  scope.report.error(
    'loop.on-error',
    message,
    node,
    didYouMean(word, choices, 'leave it out to stop at the first failure'),
  );
  return 'stop';
}
