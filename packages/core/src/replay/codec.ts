// How a state is written and read back. Each record of a state has one table of its fields, in the order in which the body shows them; the
// same table gives the canonical text (keys sorted) that checksums are computed from. A field without a value is left out of both.
import { type Id, parseId } from '../ids/index.js';
import { canonicalText, numberText, sortByCodePoint } from './canonical.js';
import type { Int64 } from './event.js';
import { type ExactJson, type ExactObject, isExactObject } from './exact-json.js';

export type Order = 'body' | 'canonical';

export interface Codec<T> {
  write(value: T, order: Order): string;
  /** @param where for messages: the path of the value in its document. */
  read(value: ExactJson, where: string): T;
}

export interface OptionalCodec<T> extends Codec<T> {
  readonly optional: true;
}

/** A stored state or an exported log that does not have the shape it must have. */
export class ReplayFormatError extends Error {
  override readonly name = 'ReplayFormatError';
}

export function refuse(where: string, expected: string): never {
  throw new ReplayFormatError(`${where} must be ${expected}`);
}

export const text: Codec<string> = {
  write: (value) => JSON.stringify(value),
  read: (value, where) => (typeof value === 'string' ? value : refuse(where, 'text')),
};

/** Bare digits: readers take ids as 64-bit integers. */
export const id: Codec<Id> = {
  write: (value) => value,
  read: (value, where) => parseId(value) ?? refuse(where, 'an id: an integer from 0 to 2^63-1, or its decimal text'),
};

export const int64: Codec<Int64> = {
  write: (value) => numberText(value),
  read: (value, where) =>
    typeof value === 'bigint' || Number.isSafeInteger(value) ? (value as Int64) : refuse(where, 'an integer'),
};

/** What the fold counts itself; it stays far below 2^53. */
export const count: Codec<number> = {
  write: (value) => String(value),
  read: (value, where) =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : refuse(where, 'a count'),
};

export const flag: Codec<boolean> = {
  write: (value) => (value ? 'true' : 'false'),
  read: (value, where) => (typeof value === 'boolean' ? value : refuse(where, 'true or false')),
};

/** Whatever a producer sent; canonical in the body, too. */
export const json: Codec<ExactJson> = {
  write: canonicalText,
  read: (value) => value,
};

export const object: Codec<ExactObject> = {
  write: canonicalText,
  read: (value, where) => (isExactObject(value) ? value : refuse(where, 'an object')),
};

export function optional<T>(codec: Codec<T>): OptionalCodec<T> {
  return { ...codec, optional: true };
}

export function list<T>(item: Codec<T>): Codec<T[]> {
  return {
    write: (values, order) => `[${values.map((value) => item.write(value, order)).join(',')}]`,
    read: (value, where) =>
      Array.isArray(value)
        ? value.map((element: ExactJson, index) => item.read(element, `${where}[${index}]`))
        : refuse(where, 'a list'),
  };
}

/** A JSON object with keys that producers chose. A `Map`, because they may choose `__proto__` and because `"10"` comes before `"9"`. */
export function dictionary<T>(item: Codec<T>): Codec<ReadonlyMap<string, T>> {
  return {
    write(values, order) {
      const members = sortByCodePoint([...values.keys()]).map(
        // Every key is in the map it came from.
        (key) => `${JSON.stringify(key)}:${item.write(values.get(key) as T, order)}`,
      );
      return `{${members.join(',')}}`;
    },
    read(value, where) {
      if (!isExactObject(value)) refuse(where, 'an object');
      return new Map(Object.entries(value).map(([key, member]) => [key, item.read(member, `${where}.${key}`)]));
    },
  };
}

/** One codec a field; a field that may be undefined must say so. */
export type Fields<T> = {
  readonly [K in keyof T]-?: undefined extends T[K] ? OptionalCodec<Exclude<T[K], undefined>> : Codec<T[K]>;
};

interface Field {
  readonly name: string;
  readonly label: string;
  readonly codec: Codec<unknown>;
  readonly optional: boolean;
}

export function record<T extends object>(fields: Fields<T>): Codec<T> {
  const inBody: Field[] = Object.entries<Codec<unknown>>(fields as Record<string, Codec<unknown>>).map(
    ([name, codec]) => ({ name, label: `${JSON.stringify(name)}:`, codec, optional: 'optional' in codec }),
  );
  const sorted = [...inBody].sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    write(value, order) {
      const values = value as Record<string, unknown>;
      let members = '';
      for (const { name, label, codec } of order === 'body' ? inBody : sorted) {
        const member = values[name];
        if (member === undefined) continue;
        members += (members === '' ? label : `,${label}`) + codec.write(member, order);
      }
      return `{${members}}`;
    },
    read(value, where) {
      if (!isExactObject(value)) refuse(where, 'an object');
      const read: Record<string, unknown> = {};
      for (const { name, codec, optional } of inBody) {
        const member = value[name];
        const absent = member === undefined || (optional && member === null);
        if (absent && !optional) refuse(`${where}.${name}`, 'present');
        read[name] = absent ? undefined : codec.read(member, `${where}.${name}`);
      }
      return read as T;
    },
  };
}
