// Everything of a playbook that is not a step: version, metadata, workload, keychain, executor.
import type { JsonObject } from '../json/types.js';
import { expectList, expectMap, expectText, readBoolean, readMap, readText, warnUnknownKeys } from './fields.js';
import type { Executor, KeychainEntry, Metadata, Playbook } from './model.js';
import { child, describe, entriesToJson, type MapNode, mapToJson, type Place } from './node.js';
import { fieldOf, type Scope } from './scope.js';
import { didYouMean } from './suggest.js';
import { checkTemplates } from './templates.js';

const API_VERSIONS = ['noetl.io/v2', 'noetl.io/v10'];
const ROOT_KEYS = [
  'apiVersion',
  'kind',
  'metadata',
  'workload',
  'vars',
  'keychain',
  'executor',
  'workbook',
  'workflow',
  'tests',
];
const PROFILES = ['auto', 'local', 'distributed'];
const ENTRY_STEP = 'start';

/** Unknown root keys are legal (tools keep their own there); only a likely typo is worth a word. */
export function checkRootKeys(scope: Scope, root: MapNode): void {
  warnUnknownKeys(scope, root, { code: 'playbook.unknown-key', known: ROOT_KEYS, report: 'typos' });
}

export function readApiVersion(scope: Scope, root: MapNode): string {
  const node = child(root, 'apiVersion');
  const version = expectText(scope, node);
  const hint = 'write `apiVersion: noetl.io/v2`';
  if (node === undefined) {
    scope.report.error('playbook.api-version', "Missing 'apiVersion'", root, hint);
  } else if (version !== undefined && !API_VERSIONS.includes(version)) {
    const message = `Unsupported API version: ${version}. Expected noetl.io/v2`;
    scope.report.error('playbook.api-version', message, node, hint);
  }
  return version ?? '';
}

export function readPlaybookKind(scope: Scope, root: MapNode): Playbook['kind'] {
  const node = child(root, 'kind');
  const kind = expectText(scope, node);
  if (node === undefined) {
    scope.report.error('playbook.kind', "Missing 'kind'", root, 'write `kind: Playbook`');
    return 'Playbook';
  }
  switch (kind?.toLowerCase()) {
    case 'agent':
      return 'Agent';
    case 'playbook':
    case undefined:
      return 'Playbook';
    default:
      scope.report.error('playbook.kind', `Invalid kind: ${kind}. Expected Playbook`, node, 'write `kind: Playbook`');
      return 'Playbook';
  }
}

export function readMetadata(scope: Scope, root: MapNode): Metadata {
  const hint = 'write `metadata: { name: …, path: … }`';
  const metadata = readMap(scope, root, 'metadata', hint);
  if (metadata === undefined) {
    if (child(root, 'metadata') === undefined) {
      scope.report.error('playbook.metadata', "Missing 'metadata' section", root.entries.get('metadata') ?? root, hint);
    }
    return { name: '', path: '', labels: {}, extra: {} };
  }
  const name = readText(scope, metadata, 'name');
  const path = readText(scope, metadata, 'path');
  const description = readText(scope, metadata, 'description');
  if (!(name || path)) {
    const place = root.entries.get('metadata') ?? metadata;
    scope.report.error('playbook.metadata', "Missing 'path' or 'name' in metadata", place, hint);
  }
  const extra = [...metadata.entries.values()].filter((entry) => !METADATA_KEYS.has(entry.key));
  return {
    name: name || path || '',
    path: path || name || '',
    ...(description !== undefined && { description }),
    labels: readLabels(scope, metadata),
    extra: entriesToJson(extra),
  };
}

const METADATA_KEYS: ReadonlySet<string> = new Set(['name', 'path', 'description', 'labels']);

/** Label values are text; a number or boolean is taken as it is written. */
function readLabels(scope: Scope, metadata: MapNode): Readonly<Record<string, string>> {
  const labels = readMap(scope, metadata, 'labels', 'write `labels: { team: platform }`');
  const pairs: [string, string][] = [];
  for (const entry of labels?.entries.values() ?? []) {
    const text = expectText(scope, entry.value);
    if (text !== undefined) pairs.push([entry.key, text]);
  }
  return Object.fromEntries(pairs);
}

/** Root `vars` is the legacy place for defaults: `workload` wins over it. */
export function readWorkload(scope: Scope, root: MapNode): JsonObject {
  const vars = root.entries.get('vars');
  const legacy = readMap(scope, root, 'vars');
  if (vars !== undefined && legacy !== undefined) {
    const message = '`vars` is legacy; its keys are read as workload defaults';
    scope.report.warning('playbook.legacy-vars', message, vars, 'move the keys under `workload`');
  }
  const workload = readMap(scope, root, 'workload', 'write `workload: { name: value }`');
  for (const part of [legacy, workload]) if (part !== undefined) checkTemplates(scope, part);
  return { ...(legacy && mapToJson(legacy)), ...(workload && mapToJson(workload)) };
}

export function readKeychain(scope: Scope, root: MapNode): KeychainEntry[] {
  const hint = 'write `- name: my_api` with `kind: …`';
  const seen = new Set<string>();
  const entries: KeychainEntry[] = [];
  for (const item of expectList(scope, child(root, 'keychain'), hint)?.items ?? []) {
    const map = expectMap(scope, item, hint);
    if (map === undefined) continue;
    checkTemplates(scope, map);
    const name = readText(scope, map, 'name');
    if (!name) {
      scope.report.error('keychain.name', `${fieldOf(map)} must have a 'name'`, map, hint);
      continue;
    }
    if (seen.has(name)) {
      const place = child(map, 'name') ?? map;
      scope.report.error('keychain.duplicate', `Duplicate keychain name: ${name}`, place, 'rename one of them');
    }
    seen.add(name);
    const config = [...map.entries.values()].filter((entry) => entry.key !== 'name');
    entries.push({ name, config: entriesToJson(config) });
  }
  return entries;
}

/** `names` in document order. */
export function readExecutor(scope: Scope, root: MapNode, names: ReadonlySet<string>): Executor {
  const executor = readMap(scope, root, 'executor');
  const spec = readMap(scope, executor, 'spec');
  checkProfile(scope, executor);
  const named = readStepName(scope, spec, 'entry_step', names);
  const finalStep = readStepName(scope, spec, 'final_step', names);
  const [first = ''] = names;
  return {
    entryStep: named ?? (names.has(ENTRY_STEP) ? ENTRY_STEP : first),
    ...(finalStep !== undefined && { finalStep }),
    noNextIsError: readBoolean(scope, spec, 'no_next_is_error') ?? false,
  };
}

function readStepName(
  scope: Scope,
  spec: MapNode | undefined,
  key: string,
  names: ReadonlySet<string>,
): string | undefined {
  const node = spec && child(spec, key);
  const name = expectText(scope, node);
  if (node === undefined || name === undefined || names.has(name)) return name;
  const message = `executor.spec.${key} references unknown step '${name}'`;
  scope.report.error('executor.unknown-step', message, node, didYouMean(name, names, 'name a step of the workflow'));
  return undefined;
}

/** A hint for other runtimes: a wrong one changes nothing here. */
function checkProfile(scope: Scope, executor: MapNode | undefined): void {
  const node = executor && child(executor, 'profile');
  if (node === undefined || (node.type === 'scalar' && PROFILES.includes(node.text))) return;
  const written = node.type === 'scalar' ? `'${node.text}'` : describe(node);
  const message = `executor.profile ${written} is ignored; it is one of ${PROFILES.join(', ')}`;
  const place: Place = node;
  scope.report.warning('executor.profile', message, place, 'remove it, or write `profile: auto`');
}
