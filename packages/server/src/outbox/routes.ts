// The outbox over HTTP: claiming and marking for publishers that run outside the server, and a look at it for operators. Everything below
// /api/internal needs the internal token (internal/guard.ts).
import { type Id, isObject, type Json, type JsonObject, parseId, rawId, redact } from '@noetl/core';
import { Type } from 'typebox';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import { totals } from './backlog.js';
import { backoffSeconds } from './backoff.js';
import type { OutboxRow } from './model.js';
import type { Outbox, ShardBacklog } from './outbox.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
const MAX_MARKS = 10_000;
const DEFAULT_MAX_DELAY_SECONDS = 300;
const MAX_LEASE_SECONDS = 3_600;
const DEAD_SHOWN = 50;

export function outboxRoutes(app: App, { outbox }: { outbox: Outbox }): void {
  app.post(
    '/api/internal/outbox/claim',
    { schema: { tags: ['internal'], summary: 'Claim outbox rows for publishing', body: Type.Any() } },
    async (request) => {
      const body = bodyOf(request.body ?? {});
      const limit = Math.min(MAX_LIMIT, Math.max(1, integerOf(body, 'limit', DEFAULT_LIMIT)));
      const lease = body.lease_seconds ?? null;
      const leaseMs = lease === null ? {} : { leaseMs: leaseSeconds(lease) * 1000 };
      const owner = typeof body.owner === 'string' && body.owner !== '' ? body.owner.slice(0, 255) : request.ip;
      const rows = await outbox.claim({ audience: 'publishers', limit, owner, ...leaseMs });
      return { rows: rows.map(claimedRow), claimed: rows.length };
    },
  );

  app.post(
    '/api/internal/outbox/mark-published',
    { schema: { tags: ['internal'], summary: 'Mark outbox rows as published', body: Type.Any() } },
    async (request) => {
      const body = bodyOf(request.body);
      const ids = idsOf(body, 'outbox_ids');
      if (ids.length === 0) throw new ApiProblem('malformed', 'outbox_ids must not be empty');
      const tokens = tokensOf(body, ids.length);
      return {
        marked: await outbox.markPublished(ids.map((outboxId, index) => ({ outboxId, token: tokens?.[index] }))),
      };
    },
  );

  app.post(
    '/api/internal/outbox/mark-failed',
    {
      schema: {
        tags: ['internal'],
        summary: 'Mark an outbox row as failed; it is tried again later',
        body: Type.Any(),
      },
    },
    async (request) => {
      const body = bodyOf(request.body);
      const outboxId = parseId(body.outbox_id);
      if (outboxId === undefined) throw new ApiProblem('invalid', "field 'outbox_id' must be an id");
      if (typeof body.error !== 'string') throw new ApiProblem('invalid', "field 'error' must be a string");
      if (body.error === '') throw new ApiProblem('malformed', 'error must not be empty');
      const delaySeconds = backoffSeconds(
        integerOf(body, 'attempts', 1),
        integerOf(body, 'max_delay_seconds', DEFAULT_MAX_DELAY_SECONDS),
      );
      const token = (body.lock_token ?? null) === null ? undefined : integerOf(body, 'lock_token', 0);
      const status = await outbox.markFailed({ outboxId, token, error: body.error, delaySeconds });
      return {
        marked: status !== undefined,
        available_at_in: delaySeconds,
        ...(status === 'DEAD' ? { dead: true } : {}),
      };
    },
  );

  app.get(
    '/api/internal/outbox/pending-count',
    { schema: { tags: ['internal'], summary: 'How many outbox rows could be claimed now' } },
    async () => ({ pending: await outbox.pending() }),
  );

  app.post(
    '/api/internal/outbox/retry',
    { schema: { tags: ['internal'], summary: 'Try dead outbox rows again: those named, or all', body: Type.Any() } },
    async (request) => {
      const body = bodyOf(request.body ?? {});
      const ids = (body.outbox_ids ?? null) === null ? undefined : idsOf(body, 'outbox_ids');
      return { retried: await outbox.revive(ids) };
    },
  );

  app.get(
    '/api/ops/outbox',
    { schema: { tags: ['operations'], summary: 'What is not delivered yet, by shard and topic' } },
    async () => {
      const [shards, dead] = await Promise.all([outbox.backlog(), outbox.dead(DEAD_SHOWN)]);
      // The URL of a callback, or what its receiver said, may hold a secret.
      return { ...totals(shards), shards: shards.map(shardView), dead_rows: redact(dead.map((row) => ({ ...row }))) };
    },
  );
}

/** Ids are integers here, as publishers of the reference read them. */
function claimedRow(row: OutboxRow) {
  return {
    outbox_id: rawId(row.outbox_id),
    event_id: row.event_id === null ? 0 : rawId(row.event_id),
    ...(row.execution_id === null ? {} : { execution_id: rawId(row.execution_id) }),
    ...(row.subject === null ? {} : { subject: row.subject }),
    payload: row.payload,
    payload_codec: row.payload_codec,
    attempts: row.attempts,
    lock_token: row.lock_token,
    topic: row.topic,
    msg_id: row.msg_id,
    headers: row.headers,
  };
}

function shardView({ shard, topics }: ShardBacklog) {
  return { shard, ...totals([{ shard, topics }]), topics };
}

function bodyOf(body: unknown): JsonObject {
  if (!isObject(body)) throw new ApiProblem('invalid', 'The body must be a JSON object');
  return body;
}

function integerOf(body: JsonObject, field: string, fallback: number): number {
  const value = body[field] ?? fallback;
  // A bigint is an integer beyond 2^53: whatever it is meant for here, it only has to stay large.
  if (typeof value === 'bigint') return value > 0n ? Number.MAX_SAFE_INTEGER : Number.MIN_SAFE_INTEGER;
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) {
    throw new ApiProblem('invalid', `field '${field}' must be an integer`);
  }
  return value;
}

function leaseSeconds(value: Json): number {
  if (typeof value !== 'number' || !(value > 0) || value > MAX_LEASE_SECONDS) {
    throw new ApiProblem('invalid', `field 'lease_seconds' must be a number above 0, at most ${MAX_LEASE_SECONDS}`);
  }
  return value;
}

function idsOf(body: JsonObject, field: string): Id[] {
  const value = body[field];
  if (!Array.isArray(value)) throw new ApiProblem('invalid', `field '${field}' must be a list of ids`);
  if (value.length > MAX_MARKS) throw new ApiProblem('invalid', `field '${field}' takes at most ${MAX_MARKS} ids`);
  return value.map((item, index) => {
    const id = parseId(item);
    if (id === undefined) throw new ApiProblem('invalid', `${field}[${index}] is not an id`);
    return id;
  });
}

/** One token for each id, in the same order. */
function tokensOf(body: JsonObject, count: number): number[] | undefined {
  const value = body.lock_tokens ?? null;
  if (value === null) return undefined;
  if (!Array.isArray(value) || value.length !== count || !value.every((item) => Number.isSafeInteger(item))) {
    throw new ApiProblem('invalid', "field 'lock_tokens' must hold one integer for each of 'outbox_ids'");
  }
  return value as number[];
}
