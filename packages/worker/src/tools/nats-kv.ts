// Key-value buckets of JetStream. Text is stored as it is, everything else as JSON; what reads as JSON comes back as its value.
import { JetStreamApiCodes, JetStreamApiError, jetstream } from '@nats-io/jetstream';
import { type KV, Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/transport-node';
import type { JsonObject } from '@noetl/core';
import { booleanOf, firstOf, optionalText } from './config.js';
import { configurationError, ToolError } from './errors.js';
import { isNoResponders } from './nats-error.js';
import { decoded, encoded } from './nats-message.js';
import type { ToolCall } from './tool.js';

const KIND = 'nats';
const ANSWER_MS = 5_000;
const MAX_KEYS = 10_000;

export const KV_OPERATIONS = ['kv_get', 'kv_put', 'kv_delete', 'kv_purge', 'kv_keys'] as const;
export type KvOperation = (typeof KV_OPERATIONS)[number];

export async function runKv(
  operation: KvOperation,
  connection: NatsConnection,
  { config }: ToolCall,
): Promise<JsonObject> {
  const bucket = nameOf(config, 'bucket', /^[-\w]+$/);
  // Read before anything is opened: a mistake must not make a bucket.
  const work = workOf(operation, config, bucket);
  const create = booleanOf(KIND, config, operation === 'kv_put', 'create');
  const buckets = new Kvm(jetstream(connection, { timeout: ANSWER_MS }));
  try {
    return await work(await buckets.open(bucket));
  } catch (error) {
    if (!isMissing(error)) throw error;
    if (create) return work(await buckets.create(bucket));
    throw new ToolError(`NATS error: there is no bucket '${bucket}'; with create: true the step makes it`, {
      kind: 'not_found',
      retryable: false,
      code: 'NATS_NO_BUCKET',
      source: KIND,
    });
  }
}

function isMissing(error: unknown): boolean {
  return (
    isNoResponders(error) || (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound)
  );
}

function workOf(operation: KvOperation, config: JsonObject, bucket: string): (kv: KV) => Promise<JsonObject> {
  if (operation === 'kv_keys') {
    const matches = globOf(optionalText(KIND, config, 'pattern') ?? '*');
    return async (kv) => ({ status: 'success', bucket, ...(await keysOf(kv, matches)) });
  }
  const key = nameOf(config, 'key', /^(?!\.)[-/=.\w]*[-/=\w]$/);
  switch (operation) {
    case 'kv_get':
      return async (kv) => {
        const entry = await kv.get(key);
        const found = entry !== null && entry.operation === 'PUT' ? entry : undefined;
        if (found === undefined) return { status: 'not_found', bucket, key, value: null };
        return { status: 'success', bucket, key, value: decoded(found.value), revision: found.revision };
      };
    case 'kv_put': {
      const value = config['value'];
      if (value === undefined) throw configurationError(KIND, 'value is required: what to store');
      return async (kv) => ({ status: 'success', bucket, key, revision: await kv.put(key, encoded(value)) });
    }
    case 'kv_delete':
      return async (kv) => {
        await kv.delete(key);
        return { status: 'success', bucket, key };
      };
    case 'kv_purge':
      return async (kv) => {
        await kv.purge(key);
        return { status: 'success', bucket, key };
      };
  }
}

async function keysOf(kv: KV, matches: (key: string) => boolean): Promise<JsonObject> {
  const keys: string[] = [];
  for await (const key of await kv.keys()) {
    if (!matches(key)) continue;
    if (keys.length === MAX_KEYS) return { keys: keys.sort(), count: keys.length, truncated: true };
    keys.push(key);
  }
  return { keys: keys.sort(), count: keys.length };
}

/** `*` stands for any text, dots included. */
function globOf(pattern: string): (key: string) => boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  const expression = new RegExp(`^${parts.join('.*')}$`, 's');
  return (key) => expression.test(key);
}

function nameOf(config: JsonObject, field: string, form: RegExp): string {
  const value = firstOf(config, field);
  const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
  if (typeof text !== 'string' || !form.test(text))
    throw configurationError(KIND, `${field} is required: letters, digits and _ - ${field === 'key' ? '/ = . ' : ''}`);
  return text;
}
