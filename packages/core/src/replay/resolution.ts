// Payload resolution: what the references of a state point to, without showing any of it. The store is the caller's; here is which references
// there are, what to ask the store for, and the bounded facts (checksum, size, rows) that are told about what it gives.
import { type Id, idToBigInt } from '../ids/index.js';
import { sortByCodePoint } from './canonical.js';
import { ExactFloat, type ExactJson, type ExactObject, isExactObject, objectOrEmpty } from './exact-json.js';
import { type PayloadSummary, summarise } from './payload.js';
import type { ReplayProjections } from './projections.js';
import { pythonJson } from './python-json.js';
import { sha256Hex } from './sha256.js';

/** A reference and where in the state it stands. The same one may stand in several places. */
export type PlacedReference = { readonly event_id: Id | undefined; readonly reference: ExactJson } & (
  | { readonly scope: 'execution' }
  | { readonly scope: 'frame'; readonly frame_id: string }
  | { readonly scope: 'business_object'; readonly object_key: string }
);

/** Of the execution, then of frames, then of business objects, each in the order of the body. */
export function payloadReferencesOf(state: ReplayProjections): PlacedReference[] {
  const found: PlacedReference[] = [];
  for (const { event_id, reference } of state.execution.payload_refs) {
    found.push({ scope: 'execution', event_id, reference });
  }
  for (const { frame_id, terminal_event_id, output_ref } of inBodyOrder(state.frames)) {
    if (output_ref === undefined) continue;
    found.push({ scope: 'frame', frame_id, event_id: terminal_event_id, reference: output_ref });
  }
  for (const { object_key, payload_refs } of inBodyOrder(state.business_objects)) {
    for (const { event_id, reference } of payload_refs) {
      found.push({ scope: 'business_object', object_key, event_id, reference });
    }
  }
  return found;
}

function inBodyOrder<T>(map: ReadonlyMap<string, T>): T[] {
  return sortByCodePoint([...map.keys()]).flatMap((key) => map.get(key) ?? []);
}

/** The text that finds the payload; references with the same locator are resolved once. */
export function locatorOf(reference: ExactJson): string | undefined {
  if (typeof reference === 'string') return reference === '' ? undefined : reference;
  if (!isExactObject(reference)) return undefined;
  if (reference['kind'] === 'payload_store') return firstFilled(reference, ['uri', 'sha256']);
  return firstFilled(reference, LOCATORS) ?? firstFilled(objectOrEmpty(reference['rows_ref']), LOCATORS);
}

const LOCATORS = ['ref', 'uri', 'locator'] as const;
const WHOLE_KINDS: readonly ExactJson[] = ['temp_ref', 'result_ref', 'manifest'];

/** What the store is asked for: the whole reference where its kind says that it describes itself, else the rows, else the locator. */
export function storeRequestOf(reference: ExactJson): ExactJson | undefined {
  if (!isExactObject(reference)) return locatorOf(reference);
  if (WHOLE_KINDS.includes(reference['kind'] ?? null)) return reference;
  return isExactObject(reference['rows_ref']) ? reference['rows_ref'] : locatorOf(reference);
}

function firstFilled(object: ExactObject, keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const value = object[key];
    if (typeof value === 'string' && value !== '') return value;
  }
  return undefined;
}

/** Bounded, whatever the size of the payload. */
export interface PayloadResolution {
  readonly ref: string;
  readonly resolved: boolean;
  readonly checksum: string | null;
  readonly size_bytes: number | null;
  readonly row_count: number | null;
  readonly value_type: PayloadType | null;
  readonly error: string | null;
}

/** Python's names of the types of JSON. */
export type PayloadType = 'list' | 'dict' | 'str' | 'int' | 'float' | 'bool' | 'NoneType';

export function resolvedPayload(locator: string, value: ExactJson): PayloadResolution {
  const text = pythonJson(value);
  return {
    ref: locator,
    resolved: true,
    checksum: sha256Hex(text),
    size_bytes: text.length,
    row_count: rowsOf(value)?.length ?? null,
    value_type: typeOf(value),
    error: null,
  };
}

export function unresolvedPayload(locator: string | undefined, error: string): PayloadResolution {
  return {
    ref: locator ?? '',
    resolved: false,
    checksum: null,
    size_bytes: null,
    row_count: null,
    value_type: null,
    error: locator === undefined ? 'payload reference has no resolvable locator' : error,
  };
}

function rowsOf(value: ExactJson): readonly ExactJson[] | undefined {
  const rows = isExactObject(value) ? value['rows'] : value;
  return Array.isArray(rows) ? rows : undefined;
}

function typeOf(value: ExactJson): PayloadType {
  if (value === null) return 'NoneType';
  if (typeof value === 'string') return 'str';
  if (typeof value === 'boolean') return 'bool';
  if (value instanceof ExactFloat) return 'float';
  if (typeof value === 'bigint' || typeof value === 'number') {
    return typeof value === 'bigint' || Number.isSafeInteger(value) ? 'int' : 'float';
  }
  return Array.isArray(value) ? 'list' : 'dict';
}

/** A row of `payload_resolution`, ready to be written as JSON. */
export type PayloadResolutionRow = ExactObject & { readonly resolution: ExactObject };

export function resolutionRow(placed: PlacedReference, resolution: PayloadResolution): PayloadResolutionRow {
  const { event_id, reference, ...place } = placed;
  return {
    ...place,
    event_id: event_id === undefined ? null : idToBigInt(event_id),
    reference_summary: withNulls(summarise(reference)),
    resolution: { ...resolution },
  };
}

export function resolutionSummary(rows: readonly PayloadResolutionRow[]): ExactObject {
  const resolved = rows.filter(({ resolution }) => resolution['resolved'] === true).length;
  const refs = new Set(rows.flatMap(({ resolution: { ref } }) => (typeof ref === 'string' && ref !== '' ? [ref] : [])));
  const summary = {
    total: rows.length,
    resolved,
    unresolved: rows.length - resolved,
    unique_refs: refs.size,
    all_resolved: resolved === rows.length,
  };
  const covered = { ...summary, unique_refs: sortByCodePoint([...refs]), rows };
  return { ...summary, checksum: sha256Hex(pythonJson(covered)) };
}

function withNulls({ sha256, schema_digest, row_count, media_type, ref }: PayloadSummary): ExactObject {
  return {
    sha256: sha256 ?? null,
    schema_digest: schema_digest ?? null,
    row_count: row_count ?? null,
    media_type: media_type ?? null,
    ref: ref ?? null,
  };
}
