// An id is a decimal string: snowflakes exceed 2^53, so a JavaScript number would round them.
// What must stay true: every `Id` is canonical (no sign, no leading zero) and fits in a Postgres bigint, therefore two
// ids are equal exactly when their strings are equal, and order is length first, then text.

declare const idBrand: unique symbol;

/** Canonical decimal text of an integer in 0..2^63-1. */
export type Id = string & { readonly [idBrand]: true };

/** 2024-01-01T00:00:00Z, the first millisecond a snowflake can express. */
export const EPOCH_MS = 1_704_067_200_000;

/** A snowflake keeps its millisecond above these low bits (10 of machine, 12 of sequence). */
export const TIME_SHIFT = 22n;

/** Last millisecond offset that fits in 41 bits: 2093-09-06. */
export const MAX_OFFSET_MS = 2 ** 41 - 1;

const MAX_ID = 9_223_372_036_854_775_807n;
const MAX_ID_TEXT = MAX_ID.toString();
const CANONICAL = /^(?:0|[1-9][0-9]{0,18})$/;

/** Reads an id from a request or a row: decimal string, safe integer or bigint. Anything else is not an id. */
export function parseId(value: unknown): Id | undefined {
  switch (typeof value) {
    case 'string':
      return isCanonical(value) ? value : undefined;
    case 'number':
      // Beyond 2^53 the number was rounded before it reached us: refusing is better than acting on a neighbour's id.
      return Number.isSafeInteger(value) && value >= 0 ? asId(String(value)) : undefined;
    case 'bigint':
      return value >= 0n && value <= MAX_ID ? asId(value.toString()) : undefined;
    default:
      return undefined;
  }
}

export function idToBigInt(id: Id): bigint {
  return BigInt(id);
}

/** Numeric order, without converting: canonical decimals sort by length, then as text. */
export function compareIds(a: Id, b: Id): -1 | 0 | 1 {
  if (a === b) return 0;
  if (a.length !== b.length) return a.length < b.length ? -1 : 1;
  return a < b ? -1 : 1;
}

/** The wall-clock millisecond in which a snowflake was minted. */
export function idTimestampMs(id: Id): number {
  return Number(BigInt(id) >> TIME_SHIFT) + EPOCH_MS;
}

/** The smallest id that can be minted in `ms` or later. Times before the epoch give the smallest id of all. */
export function idFromTimestampMs(ms: number): Id {
  const offset = Math.floor(ms) - EPOCH_MS;
  if (Number.isNaN(offset) || offset > MAX_OFFSET_MS) {
    throw new RangeError(`no id can carry the time ${ms}: ids end on 2093-09-06`);
  }
  return asId((BigInt(Math.max(offset, 0)) << TIME_SHIFT).toString());
}

/** For code of this folder that has just produced canonical text itself. */
export function asId(canonical: string): Id {
  return canonical as Id;
}

function isCanonical(text: string): text is Id {
  return CANONICAL.test(text) && (text.length < MAX_ID_TEXT.length || text <= MAX_ID_TEXT);
}
