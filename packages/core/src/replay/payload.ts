// Payload references: an event does not carry a large result but says where it is kept. The fold keeps the reference as it came, and the few
// facts about it that readers ask for.
import type { Id } from '../ids/index.js';
import { id, int64, json, optional, record, text } from './codec.js';
import { type Facts, type Int64, integerIn } from './event.js';
import { type ExactJson, type ExactObject, objectOrEmpty } from './exact-json.js';

export interface PayloadSummary {
  readonly sha256: string | undefined;
  readonly schema_digest: string | undefined;
  readonly row_count: Int64 | undefined;
  readonly media_type: string | undefined;
  readonly ref: string | undefined;
}

export interface PayloadReference {
  readonly event_id: Id;
  readonly reference: ExactJson;
  readonly summary: PayloadSummary;
}

export function payloadOf({ id, reference }: Facts): PayloadReference | undefined {
  return reference === undefined ? undefined : { event_id: id, reference, summary: summarise(reference) };
}

/** Rows may be kept apart from the rest (`rows_ref`); each fact is taken from the first place that has it in the right type. */
export function summarise(reference: ExactJson | undefined): PayloadSummary {
  const top = objectOrEmpty(reference);
  const rows = objectOrEmpty(top['rows_ref']);
  const meta = objectOrEmpty(rows['meta']);
  const ipc = objectOrEmpty(rows['ipc']);
  const places = [top, meta, ipc];
  return {
    sha256: firstText(places, 'sha256') ?? firstText([top], 'digest'),
    schema_digest: firstText(places, 'schema_digest'),
    row_count: integerIn(top, 'row_count') ?? integerIn(meta, 'row_count') ?? integerIn(ipc, 'row_count'),
    media_type: firstText(places, 'media_type'),
    ref: firstText([top, rows], 'ref') ?? firstText([top], 'uri'),
  };
}

function firstText(places: readonly ExactObject[], key: string): string | undefined {
  for (const place of places) {
    const value = place[key];
    if (typeof value === 'string') return value;
  }
  return undefined;
}

export const PAYLOAD_SUMMARY = record<PayloadSummary>({
  sha256: optional(text),
  schema_digest: optional(text),
  row_count: optional(int64),
  media_type: optional(text),
  ref: optional(text),
});

export const PAYLOAD_REFERENCE = record<PayloadReference>({
  event_id: id,
  reference: json,
  summary: PAYLOAD_SUMMARY,
});
