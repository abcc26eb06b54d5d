// Contents of references for the engine, which does no I/O: it looks at what is at hand, and asks for what is not by throwing
// `ReferenceNeeded`. Whoever catches that loads the reference and decides again, holding what it has loaded until it has decided:
// results that do not fit into the cache together would otherwise drive each other out for ever.
import { type Json, parseJson, parseRef, type References, type ResultAddress, valueOfStored } from '@noetl/core';
import type { StoredText } from './store.js';

export interface Resolver extends References {
  hold(): HeldReferences;
}

/** The references of one decision. */
export interface HeldReferences extends References {
  /** Makes the content, or that there is none, known to `get`. */
  load(ref: string): Promise<void>;
}

export interface ResolverOptions {
  read(address: ResultAddress): Promise<StoredText | undefined>;
  readonly now?: () => number;
  /** Length of all cached contents together, in characters of JSON. */
  readonly cacheLimit?: number;
  /** The same for one decision. */
  readonly holdLimit?: number;
}

type Content = { readonly value: Json } | { readonly gone: string };

interface Entry {
  readonly content: Content;
  readonly size: number;
  /** When this stops being true. */
  readonly until: number;
}

const CACHE_LIMIT = 64 * 1024 * 1024;
const HOLD_LIMIT = 256 * 1024 * 1024;
/** A result that was not there may be stored again under the same address; it is looked for again after this. */
const GONE_MS = 5_000;
const GONE_SIZE = 200;

export function createResolver(options: ResolverOptions): Resolver {
  const { read, now = Date.now, cacheLimit = CACHE_LIMIT, holdLimit = HOLD_LIMIT } = options;
  // In order of last use: a Map keeps the order of insertion.
  const entries = new Map<string, Entry>();
  let total = 0;

  const drop = (ref: string): void => {
    total -= entries.get(ref)?.size ?? 0;
    entries.delete(ref);
  };
  const keep = (ref: string, entry: Entry): void => {
    drop(ref);
    if (entry.size > cacheLimit) return;
    entries.set(ref, entry);
    total += entry.size;
    for (const oldest of entries.keys()) {
      if (total <= cacheLimit) break;
      drop(oldest);
    }
  };
  const find = (ref: string): Entry | undefined => {
    const entry = entries.get(ref);
    if (entry === undefined) return undefined;
    entries.delete(ref);
    if (entry.until > now()) entries.set(ref, entry);
    else total -= entry.size;
    return entry.until > now() ? entry : undefined;
  };

  async function fetch(ref: string): Promise<Entry> {
    const address = parseRef(ref);
    const stored = address === undefined ? undefined : await read(address);
    if (stored === undefined) {
      const gone = `the stored result ${ref} is gone: it expired, or was deleted`;
      return { content: { gone }, size: GONE_SIZE, until: now() + GONE_MS };
    }
    const until = stored.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(stored.expires_at);
    return { content: { value: valueOfStored(parseJson(stored.text)) }, size: stored.text.length, until };
  }

  return {
    get: (ref) => find(ref)?.content,
    hold() {
      const held = new Map<string, Content>();
      let heldSize = 0;
      return {
        get: (ref) => held.get(ref) ?? find(ref)?.content,
        async load(ref) {
          const entry = find(ref) ?? (await fetch(ref));
          keep(ref, entry);
          heldSize += entry.size;
          const gone = `more than ${holdLimit} bytes of stored results are needed at once, the last of them ${ref}`;
          held.set(ref, heldSize > holdLimit ? { gone } : entry.content);
        },
      };
    },
  };
}
