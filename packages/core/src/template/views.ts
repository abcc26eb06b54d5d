// Values that answer questions in their own way while a template runs: tolerant step values, maps that are
// read lazily, and words with synonyms. They exist only inside an evaluation: `settle` and `toJson` turn them back into
// data, and nothing outside this folder sees their fields.
import type { Json } from '../json/types.js';
import { isMap, put } from './kinds.js';
import { contentWith } from './reference.js';

export abstract class View {
  abstract get(key: string): unknown;
  abstract settle(): unknown;
}

class TolerantView extends View {
  constructor(private readonly value: unknown) {
    super();
  }

  override get(key: string): unknown {
    const { value } = this;
    if (hasKey(value, key)) return readKey(value, key);
    const content = contentWith(value, key);
    if (content !== undefined && Object.hasOwn(content, key)) return content[key];
    if (key === 'data' || key === 'result') return this;
    const data = readKey(content ?? value, 'data');
    return isMap(data) || data instanceof View ? readKey(data, key) : undefined;
  }

  override settle(): unknown {
    return settle(this.value);
  }
}

class LazyMap extends View {
  constructor(
    readonly read: (key: string) => unknown,
    private readonly keys: () => Iterable<string>,
  ) {
    super();
  }

  override get(key: string): unknown {
    return this.read(key);
  }

  override settle(): unknown {
    const map: Record<string, unknown> = {};
    for (const key of this.keys()) put(map, key, this.read(key));
    return map;
  }
}

/**
 * A step value, an output or a pipeline label: `x.data` and `x.result` mean the value itself when it has no such key,
 * and the keys of an object under `data` can be read directly.
 */
export function tolerant(value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  return value instanceof TolerantView ? value : new TolerantView(value);
}

/** A map whose values are produced when a template asks; `keys` is asked only when the whole map is used as data. */
export function lazyMap(read: (key: string) => unknown, keys: () => Iterable<string>): unknown {
  return new LazyMap(read, keys);
}

/** A word that equals any of its synonyms, whatever their case, and prints as its primary spelling. */
export class Synonym {
  readonly #words: ReadonlySet<string>;

  constructor(
    readonly primary: string,
    words: Iterable<string>,
  ) {
    this.#words = new Set([primary, ...words].map((word) => word.toLowerCase()));
  }

  means(word: string): boolean {
    return this.#words.has(word.toLowerCase());
  }

  occursIn(text: string): boolean {
    const lower = text.toLowerCase();
    for (const word of this.#words) if (lower.includes(word)) return true;
    return false;
  }

  /** The same meaning, spelt differently: `status | upper` still equals `'success'`. */
  respell(primary: string): Synonym {
    return new Synonym(primary, [...this.#words]);
  }
}

export function synonym(primary: string, words: readonly string[]): unknown {
  return new Synonym(primary, words);
}

/** The data behind a view. Synonyms stay: they still have to be compared. */
export function settle(value: unknown): unknown {
  return value instanceof View ? value.settle() : value;
}

/** The data behind a view or a synonym, for consumers that only know JSON. */
export function plain(value: unknown): unknown {
  if (value instanceof View) return plain(value.settle());
  return value instanceof Synonym ? value.primary : value;
}

function hasKey(value: unknown, key: string): boolean {
  if (value instanceof View) return value.get(key) !== undefined;
  return isMap(value) && Object.hasOwn(value, key);
}

function readKey(value: unknown, key: string): unknown {
  if (value instanceof View) return value.get(key);
  return isMap(value) && Object.hasOwn(value, key) ? (value[key] as Json) : undefined;
}
