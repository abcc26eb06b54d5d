// After a tool has returned: what is small goes into the log as it is, what is large is stored first and the log carries a reference.
// Storing is part of the command. It is reported only when the content is safe, and not at all when storing fails for good.
import type { LeasedCommand } from '@noetl/client';
import { isObject, type Json, type JsonObject, stringifyJson, valueOfStored } from '@noetl/core';
import { jsonSize } from '../json-size.js';
import type { ToolResult } from '../tools/tool.js';
import { outputSettings } from './settings.js';
import { readableFields, shownOf } from './shown.js';
import type { ResultStore } from './store.js';

export interface Kept {
  readonly result: ToolResult;
  /** Describes where the data is, for readers of the event; absent when it is inside. */
  readonly reference?: JsonObject;
}

const JSON_TYPE = 'application/json';
/** A character takes at most six bytes of JSON: below a sixth of the limit nothing has to be written to be measured. */
const LONGEST_ESCAPE = 6;

export async function keepResult(
  command: LeasedCommand,
  result: ToolResult,
  store: ResultStore,
  signal: AbortSignal,
): Promise<Kept> {
  const { data, ...rest } = result;
  if (data === undefined || claimsRows(command)) return { result };
  const settings = outputSettings(command);
  if (fitsInline(data, settings.inlineMaxBytes)) return { result };

  const { stored, updates } = withoutUpdates(data);
  const {
    ref,
    store: place,
    scope,
    bytes,
    sha256,
    expires_at,
  } = await store.put(
    {
      executionId: command.execution_id,
      name: command.step,
      step: command.step,
      data: stored,
      scope: settings.scope,
      ttl: settings.ttl,
    },
    signal,
  );
  const value = valueOfStored(stored);
  const fields = readableFields(value, settings);
  return {
    result: {
      ...rest,
      data: shownOf(ref, value, bytes, fields, settings.previewMaxBytes),
      ...(updates === undefined ? {} : { context_updates: updates }),
    },
    reference: {
      kind: 'result_ref',
      ref,
      store: place,
      scope,
      ...(expires_at === null ? {} : { expires_at }),
      meta: { bytes, sha256, media_type: JSON_TYPE, content_type: JSON_TYPE },
      extracted: fields,
    },
  };
}

/** The engine itself reads the rows that a cursor claims. */
function claimsRows({ meta }: LeasedCommand): boolean {
  const { cursor } = meta;
  return isObject(cursor) && cursor['phase'] === 'claim';
}

function fitsInline(data: Json, limit: number): boolean {
  return jsonSize(data) * LONGEST_ESCAPE <= limit || Buffer.byteLength(stringifyJson(data)) <= limit;
}

/** What a list of tools has set on its way is read by the engine, which sees only the event. */
function withoutUpdates(data: Json): { stored: Json; updates?: JsonObject } {
  if (!isObject(data)) return { stored: data };
  const { _context_updates: updates, ...stored } = data;
  return Array.isArray(data['_pipeline']) && isObject(updates) ? { stored, updates } : { stored: data };
}
