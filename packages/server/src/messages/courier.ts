// Hands over what executions tell each other: a child to start, a child that has ended, a cancel that cascades. Every server runs one; a
// message is deleted only after the other execution has it, so a crash means twice, and twice is once (decisions/0008).
import type { Id, Message } from '@noetl/core';
import type { Logger } from 'pino';
import type { Shard } from '../db/index.js';
import type { ChildStarter } from '../executions/index.js';
import type { Log } from '../log/index.js';
import { within } from '../within.js';
import { deferMessage, deleteMessages, type StoredMessage, takeMessages } from './store.js';

const BATCH = 200;
const MAX_DELAY_SECONDS = 60;
const PATIENCE_MS = 5_000;

export interface CourierOptions {
  readonly log: Log;
  readonly children: ChildStarter;
  readonly logger: Logger;
}

/** Delivers what is ready on this shard. True when there may be more. */
export async function deliverMessages(options: CourierOptions, shard: Shard): Promise<boolean> {
  const taken = await takeMessages(shard.pool, BATCH);
  const delivered: Id[] = [];
  await Promise.all(
    taken.map(async (message) => {
      try {
        // The shard of the target may be away: the messages to the others do not wait for it. If it was delivered after all, twice is once.
        await within(PATIENCE_MS, deliver(options, message));
        delivered.push(message.message_id);
      } catch (error) {
        const seconds = Math.min(MAX_DELAY_SECONDS, 2 ** Math.min(message.attempts - 1, 6));
        const ids = { execution_id: message.sender_id, target_id: message.target_id, type: message.body.type };
        options.logger.warn({ ...ids, err: error, retry_in_seconds: seconds }, 'a message was not delivered');
        await deferMessage(
          shard.pool,
          message.message_id,
          seconds,
          error instanceof Error ? error.message : String(error),
        );
      }
    }),
  );
  if (delivered.length > 0) await deleteMessages(shard.pool, delivered);
  return taken.length === BATCH;
}

async function deliver({ log, children }: CourierOptions, { sender_id: sender, body }: StoredMessage): Promise<void> {
  switch (body.type) {
    case 'start_child':
      return children.start(sender, body.commandId, body.target);
    case 'cancel':
      // Refused when it has ended, or never began: nothing to do either way.
      await log.append(body.target, [{ type: 'cancel', reason: body.reason }]);
      return;
    case 'child_ended':
      await log.append(body.target, [{ type: 'child_ended', commandId: body.commandId, end: endOf(sender, body) }]);
      return;
  }
}

function endOf(childId: Id, { status, data, error }: Extract<Message, { type: 'child_ended' }>) {
  return { childId, status, data, error };
}
