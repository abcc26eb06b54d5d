// Fields that a document must have, and whole numbers within bounds: what subscriptions need beyond the readers of playbooks.
import { expectText } from '../playbook/fields.js';
import { child, describe, type MapNode, type Node, type Place } from '../playbook/node.js';
import { fieldOf, type Scope } from '../playbook/scope.js';

/** Says that a key is missing, at the key when it is written without a value, else at the map that should have it. */
export function missing(scope: Scope, map: MapNode, key: string, hint: string): void {
  const place: Place = map.entries.get(key) ?? map;
  const field = map.path === '' ? key : `${fieldOf(map)}.${key}`;
  scope.report.error('subscription.required', `${field} is required`, place, hint);
}

export function requireNode(scope: Scope, map: MapNode, key: string, hint: string): Node | undefined {
  const node = child(map, key);
  if (node === undefined) missing(scope, map, key, hint);
  return node;
}

/** Text that says something. */
export function requireText(scope: Scope, map: MapNode, key: string, hint: string): string | undefined {
  const node = requireNode(scope, map, key, hint);
  const text = expectText(scope, node);
  if (node === undefined || text === undefined) return undefined;
  if (text.trim() !== '') return text;
  scope.report.error('subscription.required', `${fieldOf(node)} must not be empty`, node, hint);
  return undefined;
}

export function readWhole(
  scope: Scope,
  map: MapNode | undefined,
  key: string,
  max = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const node = map === undefined ? undefined : child(map, key);
  if (node === undefined) return undefined;
  const value = node.type === 'scalar' ? node.value : undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= max) return value;
  const bounds = max === Number.MAX_SAFE_INTEGER ? 'greater than 0' : `from 1 to ${max}`;
  const found = node.type === 'scalar' && node.text !== '' ? `\`${node.text}\`` : describe(node);
  scope.report.error('subscription.number', `${fieldOf(node)} must be a whole number ${bounds}, found ${found}`, node);
  return undefined;
}
