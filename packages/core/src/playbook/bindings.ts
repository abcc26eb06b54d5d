// Values that a step, task, arc or rule hands on: `input` (legacy `args`) and `set` with its legacy spellings.
import type { JsonObject } from '../json/types.js';
import { expectMap } from './fields.js';
import { child, isNull, type MapNode, mapToJson, type Node, toJson } from './node.js';
import { fieldOf, type Scope } from './scope.js';
import { checkTemplates } from './templates.js';

/** Legacy spellings first: the same key under `set` wins. */
const SET_FORMS = [
  { key: 'set_vars', prefix: 'ctx.' },
  { key: 'set_ctx', prefix: 'ctx.' },
  { key: 'set_iter', prefix: 'iter.' },
  { key: 'set', prefix: '' },
] as const;

export const SET_KEYS: readonly string[] = SET_FORMS.map((form) => form.key);

export function readSet(scope: Scope, map: MapNode): JsonObject {
  let bindings: JsonObject = {};
  for (const form of SET_FORMS) {
    const values = expectMap(scope, child(map, form.key), 'write `ctx.name: value` pairs');
    if (values !== undefined) bindings = { ...bindings, ...prefixed(scope, values, form.prefix) };
  }
  return bindings;
}

/** Step-level `vars`, from before `set` existed. */
export function readLegacyVars(scope: Scope, map: MapNode): JsonObject {
  const entry = map.entries.get('vars');
  if (entry === undefined || isNull(entry.value)) return {};
  const message = `${scope.subject}\`vars\` is legacy; it is read as \`set\` with \`ctx.\` names`;
  scope.report.warning('step.legacy-vars', message, entry, 'write `set: { ctx.name: … }`');
  const values = expectMap(scope, entry.value);
  return values === undefined ? {} : prefixed(scope, values, 'ctx.');
}

function prefixed(scope: Scope, values: MapNode, prefix: string): JsonObject {
  checkTemplates(scope, values);
  return Object.fromEntries(
    [...values.entries.values()].map((entry) => [
      entry.key.startsWith(prefix) ? entry.key : prefix + entry.key,
      toJson(entry.value),
    ]),
  );
}

/** `input` and its alias `args`; when both are written a key of `input` wins. */
export function readInput(scope: Scope, input: Node | undefined, args: Node | undefined): JsonObject {
  const named = expectMap(scope, input, 'write `input: { name: value }`');
  const legacy = expectMap(scope, args, 'write `input: { name: value }`');
  if (input !== undefined && args !== undefined) {
    const message = `${scope.subject}${fieldOf(args)} and \`input\` are the same field; keys of \`input\` win`;
    scope.report.warning('playbook.input-twice', message, args, 'keep `input` only');
  }
  for (const values of [legacy, named]) if (values !== undefined) checkTemplates(scope, values);
  return { ...(legacy && mapToJson(legacy)), ...(named && mapToJson(named)) };
}
