// Typed reading of map fields. A reader reports a wrong shape and then answers `undefined` (absent), so that one mistake
// is told once and the rest of the document is still checked.
import type { JsonObject } from '../json/types.js';
import { child, describe, type Entry, type ListNode, type MapNode, mapToJson, type Node } from './node.js';
import { fieldOf, type Scope } from './scope.js';
import { closest, didYouMean } from './suggest.js';

export function expectMap(scope: Scope, node: Node | undefined, hint?: string): MapNode | undefined {
  if (node === undefined || node.type === 'map') return node;
  wrongShape(scope, node, 'a map', hint);
  return undefined;
}

export function expectList(scope: Scope, node: Node | undefined, hint?: string): ListNode | undefined {
  if (node === undefined || node.type === 'list') return node;
  wrongShape(scope, node, 'a list', hint);
  return undefined;
}

/** Text, or a number or boolean as it is written (`step: 1`). */
export function expectText(scope: Scope, node: Node | undefined): string | undefined {
  if (node === undefined) return undefined;
  if (node.type === 'scalar' && node.value !== null) return node.text;
  wrongShape(scope, node, 'text');
  return undefined;
}

export function readMap(scope: Scope, map: MapNode | undefined, key: string, hint?: string): MapNode | undefined {
  return map === undefined ? undefined : expectMap(scope, child(map, key), hint);
}

export function readObject(scope: Scope, map: MapNode | undefined, key: string): JsonObject | undefined {
  const value = readMap(scope, map, key);
  return value === undefined ? undefined : mapToJson(value);
}

export function readText(scope: Scope, map: MapNode | undefined, key: string): string | undefined {
  return map === undefined ? undefined : expectText(scope, child(map, key));
}

export function readBoolean(scope: Scope, map: MapNode | undefined, key: string): boolean | undefined {
  const node = map === undefined ? undefined : child(map, key);
  if (node === undefined) return undefined;
  if (node.type === 'scalar' && typeof node.value === 'boolean') return node.value;
  wrongShape(scope, node, '`true` or `false`');
  return undefined;
}

/** One of a few words, in any case. */
export function readChoice<T extends string>(
  scope: Scope,
  node: Node | undefined,
  choices: readonly T[],
): T | undefined {
  const word = expectText(scope, node);
  if (node === undefined || word === undefined) return undefined;
  const found = choices.find((choice) => choice === word.toLowerCase());
  if (found === undefined) {
    const message = `${scope.subject}${fieldOf(node)} must be one of ${choices.join(', ')} (got '${word}')`;
    scope.report.error(
      'playbook.choice',
      message,
      node,
      didYouMean(word, choices, `write \`${choices[0]}\`, or leave it out`),
    );
  }
  return found;
}

export function isTemplateText(text: string): boolean {
  return text.includes('{{') || text.includes('{%');
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds as a number, `"1.5"`, `"30s"`, `"5m"`, or a template that yields one of these. */
export function readSeconds(scope: Scope, node: Node | undefined): number | string | undefined {
  if (node === undefined) return undefined;
  if (node.type === 'scalar') {
    if (typeof node.value === 'number' && Number.isFinite(node.value) && node.value >= 0) return node.value;
    if (typeof node.value === 'string') {
      if (isTemplateText(node.value)) return node.value;
      const match = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*$/.exec(node.value);
      if (match !== null) return Number(match[1]) * (UNIT_SECONDS[match[2] ?? 's'] ?? 1);
    }
  }
  wrongShape(scope, node, 'a number of seconds, a duration or a template', 'write `30`, `"30s"` or `"{{ … }}"`');
  return undefined;
}

/** A positive integer, the same as text, or a template that yields one. */
export function readCount(scope: Scope, node: Node | undefined, complaint?: string): number | string | undefined {
  if (node === undefined) return undefined;
  if (node.type === 'scalar') {
    if (typeof node.value === 'string' && isTemplateText(node.value)) return node.value;
    const isText = typeof node.value === 'string' && /^\s*\d+\s*$/.test(node.value);
    const count = isText ? Number(node.value) : node.value;
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 1) return count;
  }
  const message = complaint ?? `${fieldOf(node)} must be a positive integer or a template`;
  scope.report.error('playbook.count', `${scope.subject}${message}`, node, 'write a whole number of at least 1');
  return undefined;
}

function wrongShape(scope: Scope, node: Node, expected: string, hint = `write ${expected}`): void {
  const message = `${scope.subject}${fieldOf(node)} must be ${expected}, found ${describe(node)}`;
  scope.report.error('playbook.shape', message, node, hint);
}

export interface KeyRules {
  readonly code: string;
  readonly known: Iterable<string>;
  /** Key -> where it belongs. */
  readonly misplaced?: (key: string) => string | undefined;
  /** `typos`: stay silent about keys that resemble nothing (this part of the playbook is open for extension). */
  readonly report: 'all' | 'typos';
}

/** Unknown keys are never an error: newer playbooks must still load. */
export function warnUnknownKeys(scope: Scope, map: MapNode, rules: KeyRules): void {
  const known = new Set(rules.known);
  for (const entry of map.entries.values()) if (!known.has(entry.key)) warnUnknownKey(scope, entry, known, rules);
}

function warnUnknownKey(scope: Scope, entry: Entry, known: ReadonlySet<string>, rules: KeyRules): void {
  const home = rules.misplaced?.(entry.key);
  if (home !== undefined) {
    const message = `${scope.subject}key \`${entry.key}\` has no effect here`;
    scope.report.warning('playbook.misplaced-key', message, entry, `move it under \`${home}\``);
    return;
  }
  const similar = closest(entry.key, known);
  if (similar === undefined && rules.report === 'typos') return;
  const message = `${scope.subject}unknown key \`${entry.key}\` is ignored`;
  scope.report.warning(
    rules.code,
    message,
    entry,
    didYouMean(entry.key, known, 'remove it, or move it to where it is read'),
  );
}
