// Stored results as one command sees them: fetched when something asks for them, once each, and forgotten with the command.
import type { LeasedCommand, PutResultResponse } from '@noetl/client';
import {
  isObject,
  type Json,
  type JsonObject,
  ReferenceNeeded,
  refOf,
  valueOfStored,
  withReferences,
} from '@noetl/core';
import type { Tool, ToolCall } from '../tools/tool.js';
import { goneMessage, missingResult, type ResultStore, type StoreRequest } from './store.js';

export interface ResultAccess {
  /** Runs `work`, which evaluates templates; again, from its start, whenever it needs a result that had to be fetched. */
  resolving<T>(work: () => T): Promise<T>;
  /** The same fields with the contents of references in their place, however deep they lie. */
  inline(fields: JsonObject): Promise<JsonObject>;
  /** The result as it was stored. Rejects when it is gone. */
  fetch(ref: string): Promise<Json>;
  put(result: Pick<StoreRequest, 'name' | 'data' | 'scope' | 'ttl'>): Promise<PutResultResponse>;
}

type Content = { readonly value: Json; readonly stored: Json } | { readonly gone: string };

export function createResultAccess(
  store: ResultStore,
  command: Pick<LeasedCommand, 'execution_id' | 'step'>,
  signal: AbortSignal,
): ResultAccess {
  const contents = new Map<string, Content>();

  async function load(ref: string): Promise<Content> {
    const known = contents.get(ref);
    if (known !== undefined) return known;
    const found = await store.find(ref, signal);
    const content: Content =
      found === undefined ? { gone: goneMessage(ref) } : { value: valueOfStored(found.content), stored: found.content };
    contents.set(ref, content);
    return content;
  }

  async function present(ref: string): Promise<Exclude<Content, { gone: string }>> {
    const content = await load(ref);
    if ('gone' in content) throw missingResult(ref);
    return content;
  }

  async function replaced(value: Json): Promise<Json> {
    const ref = refOf(value);
    if (ref !== undefined) return (await present(ref)).value;
    // Asked first, because most inputs hold no reference and need no copy.
    if (!holdsReference(value)) return value;
    if (Array.isArray(value)) {
      const items: Json[] = [];
      for (const item of value) items.push(await replaced(item));
      return items;
    }
    const entries: [string, Json][] = [];
    for (const [key, part] of Object.entries(value as JsonObject)) entries.push([key, await replaced(part)]);
    return Object.fromEntries(entries);
  }

  return {
    fetch: async (ref) => (await present(ref)).stored,
    put: (result) => store.put({ executionId: command.execution_id, step: command.step, ...result }, signal),
    async resolving(work) {
      for (;;) {
        try {
          return withReferences({ get: (ref) => contents.get(ref) }, work);
        } catch (error) {
          if (!(error instanceof ReferenceNeeded)) throw error;
          await load(error.ref);
        }
      }
    },
    async inline(fields) {
      const whole = await replaced(fields);
      return isObject(whole) ? whole : fields;
    },
  };
}

/** A tool gets the values that references in its inputs and its configuration stand for, unless it wants the references. */
export async function readyFor(tool: Pick<Tool, 'takesReferences'>, call: ToolCall): Promise<ToolCall> {
  if (tool.takesReferences === true) return call;
  const input = await call.results.inline(call.input);
  return { ...call, input, config: await call.results.inline(call.config) };
}

function holdsReference(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(holdsReference);
  return refOf(value) !== undefined || Object.values(value).some(holdsReference);
}
