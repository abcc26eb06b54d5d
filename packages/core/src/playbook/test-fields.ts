// What the readers of a `tests` block share. A word that nothing understands is an error here: see tests.ts.
import { parseDurationMs } from '../engine/clock.js';
import { expectText } from './fields.js';
import { describe, type MapNode, type Node } from './node.js';
import { fieldOf, type Scope } from './scope.js';
import { didYouMean } from './suggest.js';
import type { Named } from './test-model.js';

/** A list of names, or one. */
export function readNames(scope: Scope, node: Node | undefined): Named[] {
  if (node === undefined) return [];
  return (node.type === 'list' ? node.items : [node]).flatMap((item): Named[] => {
    const name = expectText(scope, item);
    return name === undefined ? [] : [{ name, path: item.path, at: item.at }];
  });
}

export function readDurationMs(scope: Scope, node: Node | undefined): number | undefined {
  if (node === undefined) return undefined;
  const ms = node.type === 'scalar' ? parseDurationMs(node.value as number | string) : undefined;
  if (ms !== undefined) return ms;
  const written = node.type === 'scalar' ? `'${node.text}'` : describe(node);
  const message = `${scope.subject}${fieldOf(node)} is not a duration: ${written}`;
  scope.report.error('test.duration', message, node, 'write seconds, or 90s, 15m, 2h, 1h30m');
  return undefined;
}

export function refuseUnknownKeys(scope: Scope, map: MapNode, known: readonly string[]): void {
  for (const entry of map.entries.values()) {
    if (known.includes(entry.key)) continue;
    const message = `${scope.subject}\`${entry.key}\` is not a key of ${fieldOf(map)}`;
    scope.report.error('test.unknown-key', message, entry, didYouMean(entry.key, known, `known: ${known.join(', ')}`));
  }
}
