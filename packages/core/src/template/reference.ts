// Values that are kept elsewhere. A large result is shown as a small map with `_ref` and a few of its fields; a template that
// touches anything else needs the whole. Evaluation does no I/O, so what is not at hand is asked for by throwing `ReferenceNeeded`:
// the caller loads the content and evaluates again. Printing a reference, and asking for `_ref` itself, never loads anything.
import type { Json } from '../json/types.js';
import { TemplateError } from './error.js';
import { isMap, type MapValue } from './kinds.js';

/** Contents that are at hand: undefined is "not yet", `gone` is "never again" and says why. */
export interface References {
  get(ref: string): { readonly value: Json } | { readonly gone: string } | undefined;
}

/** Not a mistake of the author: whoever evaluates loads `ref` and tries again. */
export class ReferenceNeeded extends Error {
  override readonly name = 'ReferenceNeeded';

  constructor(readonly ref: string) {
    super(`the content of ${ref} is needed`);
  }
}

const REF = /^noetl:\/\/execution\/\d+\/result\/.+\/\d+$/s;

/** What a reference says about itself; the content is not asked for these. */
const OWN_KEYS: ReadonlySet<string> = new Set(['_ref', '_store', '_preview', '_keys']);

// Set for the duration of one synchronous evaluation, so that a reference is recognised wherever it lies in the data (in a list,
// in `ctx`, in the result of a loop) without every value having to be wrapped.
let current: References | undefined;

/** Runs `work`, in which templates may look into references. Without references they are maps like any other. */
export function withReferences<T>(references: References | undefined, work: () => T): T {
  const outer = current;
  current = references;
  try {
    return work();
  } finally {
    current = outer;
  }
}

/** The address in a value that stands for a larger one. */
export function refOf(value: unknown): string | undefined {
  if (!isMap(value) || !Object.hasOwn(value, '_ref')) return undefined;
  const ref = value['_ref'];
  return typeof ref === 'string' && REF.test(ref) ? ref : undefined;
}

/** The whole value behind a reference; any other value as it is. */
export function contentOf(value: unknown): unknown {
  if (current === undefined) return value;
  const ref = refOf(value);
  if (ref === undefined) return value;
  const content = current.get(ref);
  if (content === undefined) throw new ReferenceNeeded(ref);
  if ('gone' in content) throw new TemplateError(content.gone);
  return content.value;
}

/** Undefined when `value` is no reference, or when it is known without its content that it has no such key. */
export function contentWith(value: unknown, key: string): MapValue | undefined {
  if (current === undefined || OWN_KEYS.has(key) || refOf(value) === undefined) return undefined;
  if (lacks(value as MapValue, key)) return undefined;
  const content = contentOf(value);
  return isMap(content) ? content : undefined;
}

/** `_keys`, when it is there, is complete. Fields under `data` can be read directly, so a value with `data` may have any key. */
function lacks(reference: MapValue, key: string): boolean {
  const keys = reference['_keys'];
  return Array.isArray(keys) && !keys.includes(key) && !keys.includes('data');
}
