// The YAML document as a tree in which every value and every key knows its path and its position.
// Aliases and merge keys are already resolved and the depth is bounded (document.ts), so recursion over it is safe.
import type { Json, JsonObject } from '../json/types.js';
import type { Position } from './model.js';

/** Somewhere a diagnostic can point to. */
export interface Place {
  readonly path: string;
  readonly at: Position;
}

export type ScalarStyle = 'plain' | 'quoted' | 'literal' | 'folded';

export interface ScalarNode extends Place {
  readonly type: 'scalar';
  readonly value: null | boolean | number | bigint | string;
  /** As written for plain values (`1.10` stays `1.10`), else the string value. */
  readonly text: string;
  readonly style: ScalarStyle;
  readonly offset: number;
}

export interface ListNode extends Place {
  readonly type: 'list';
  readonly items: readonly Node[];
}

export interface MapNode extends Place {
  readonly type: 'map';
  readonly entries: ReadonlyMap<string, Entry>;
}

/** `at` is the position of the key. */
export interface Entry extends Place {
  readonly key: string;
  readonly value: Node;
}

export type Node = ScalarNode | ListNode | MapNode;

export function childPath(parent: string, key: string): string {
  if (!/^[\w.-]+$/.test(key)) return `${parent}[${JSON.stringify(key)}]`;
  return parent === '' ? key : `${parent}.${key}`;
}

export function isNull(node: Node): boolean {
  return node.type === 'scalar' && node.value === null;
}

/** The value under a key; a key written without a value counts as absent. */
export function child(map: MapNode, key: string): Node | undefined {
  const value = map.entries.get(key)?.value;
  return value === undefined || isNull(value) ? undefined : value;
}

export function toJson(node: Node): Json {
  if (node.type === 'scalar') return node.value;
  if (node.type === 'list') return node.items.map(toJson);
  return mapToJson(node);
}

export function mapToJson(map: MapNode): JsonObject {
  return entriesToJson(map.entries.values());
}

/** `Object.fromEntries` defines own properties, so a key `__proto__` is data like any other. */
export function entriesToJson(entries: Iterable<Entry>): JsonObject {
  return Object.fromEntries([...entries].map((entry) => [entry.key, toJson(entry.value)]));
}

/** What a value is, in the words of an author. */
export function describe(node: Node): string {
  if (node.type !== 'scalar') return `a ${node.type}`;
  if (node.value === null) return 'nothing';
  switch (typeof node.value) {
    case 'string':
      return 'text';
    case 'boolean':
      return 'a boolean';
    default:
      return 'a number';
  }
}
