// Talks to NATS: publishes, keeps values in buckets, reads streams. Steps share connections (nats-pool.ts).
import type { NatsConnection } from '@nats-io/transport-node';
import { firstOf } from './config.js';
import { configurationError, processTimeout } from './errors.js';
import { natsSettingsOf } from './nats-connection.js';
import { natsError } from './nats-error.js';
import { KV_OPERATIONS, type KvOperation, runKv } from './nats-kv.js';
import { createNatsPool, type NatsPool } from './nats-pool.js';
import { publish, publishToStream } from './nats-publish.js';
import { runStream, STREAM_OPERATIONS, type StreamOperation } from './nats-stream.js';
import { type Tool, type ToolCall, type ToolResult, timedOut } from './tool.js';

export interface NatsOptions {
  /** How long a connection is kept without work. */
  readonly idleMs?: number;
}

const KIND = 'nats';
const TIMEOUT_MS = 30_000;
const PUBLISH_OPERATIONS = ['publish', 'js_publish'] as const;
const OPERATIONS = [...PUBLISH_OPERATIONS, ...KV_OPERATIONS, ...STREAM_OPERATIONS] as const;
type Operation = (typeof OPERATIONS)[number];

export function createNatsTool(options: NatsOptions = {}): Tool {
  const pool = createNatsPool(options);
  return { kind: KIND, run: (call) => runNats(call, pool), close: () => pool.close() };
}

async function runNats(call: ToolCall, pool: NatsPool): Promise<ToolResult> {
  const settings = natsSettingsOf(call.config);
  const operation = operationOf(call);
  const timeoutMs = call.timeoutMs ?? TIMEOUT_MS;
  const startedAt = performance.now();
  const deadline = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([call.signal, deadline]);
  try {
    const result = await pool.use(settings, signal, (connection) => perform(operation, connection, call, signal));
    return { ...result, duration_ms: Math.round(performance.now() - startedAt) };
  } catch (error) {
    // The runtime knows why it aborted; the result of an aborted call is not looked at.
    if (call.signal.aborted) throw call.signal.reason;
    if (deadline.aborted) return timedOut(timeoutMs, processTimeout(timeoutMs, KIND, 'NATS_TIMEOUT'));
    throw natsError(error, settings);
  }
}

async function perform(
  operation: Operation,
  connection: NatsConnection,
  call: ToolCall,
  signal: AbortSignal,
): Promise<ToolResult> {
  if (operation === 'publish') return publish(connection, call);
  if (operation === 'js_publish') return publishToStream(connection, call, signal);
  const data = isKv(operation)
    ? await runKv(operation, connection, call)
    : await runStream(operation, connection, call, signal);
  return { status: 'success', data };
}

function operationOf({ config }: ToolCall): Operation {
  const given = firstOf(config, 'operation');
  const known = OPERATIONS.find((operation) => operation === given);
  if (known === undefined) throw configurationError(KIND, `operation must be one of ${OPERATIONS.join(', ')}`);
  return known;
}

function isKv(operation: KvOperation | StreamOperation): operation is KvOperation {
  return KV_OPERATIONS.some((one) => one === operation);
}
