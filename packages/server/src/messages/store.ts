// SQL of `noetl.message`. Rows are written by the append (log/store.ts); here they are taken, handed over and deleted.
import type { Id, Message } from '@noetl/core';
import type pg from 'pg';

export interface StoredMessage {
  readonly message_id: Id;
  readonly sender_id: Id;
  readonly target_id: Id;
  readonly body: Message;
  readonly attempts: number;
}

/** Whoever takes a message has it for this long; then somebody else may try. */
const HOLD_SECONDS = 30;

export async function takeMessages(pool: pg.Pool, limit: number): Promise<StoredMessage[]> {
  const result = await pool.query<StoredMessage>({
    name: 'take-messages',
    text: `UPDATE noetl.message m SET attempts = attempts + 1, available_at = now() + $2 * interval '1 s'
           WHERE message_id IN (SELECT message_id FROM noetl.message WHERE available_at <= now()
             ORDER BY available_at, message_id LIMIT $1 FOR UPDATE SKIP LOCKED)
           RETURNING message_id, sender_id, target_id, body, attempts`,
    values: [limit, HOLD_SECONDS],
  });
  return result.rows;
}

export async function deleteMessages(pool: pg.Pool, ids: readonly Id[]): Promise<void> {
  await pool.query({
    name: 'delete-messages',
    text: 'DELETE FROM noetl.message WHERE message_id = ANY ($1::bigint[])',
    values: [ids],
  });
}

export async function deferMessage(pool: pg.Pool, id: Id, seconds: number, error: string): Promise<void> {
  await pool.query({
    name: 'defer-message',
    text: `UPDATE noetl.message SET available_at = now() + $2 * interval '1 s', last_error = left($3, 2000) WHERE message_id = $1`,
    values: [id, seconds, error],
  });
}

export async function countMessages(pool: pg.Pool): Promise<number> {
  const result = await pool.query<{ count: number }>('SELECT count(*)::float8 AS count FROM noetl.message');
  return result.rows[0]?.count ?? 0;
}
