// Keeps commands moving when processes do not: re-issues what a lost worker held, acts on deadlines, and refills the queue from the table with commands
// that other servers issued or whose delay is over. Losing a wake-up therefore costs a second, never a command.
import type { Logger } from 'pino';
import { eachShard, type Pools, type Shard } from '../db/index.js';
import type { Log } from '../log/index.js';
import type { CommandQueue } from './queue.js';
import { readyCommands, takeDueCommands, takeExpiredLeases } from './store.js';

const BATCH = 500;

export async function requeueExpired(pools: Pools, log: Log, logger: Logger): Promise<number> {
  const counts = await eachShard(pools, (shard) => requeueExpiredOf(shard, log, logger));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function requeueExpiredOf(shard: Shard, log: Log, logger: Logger): Promise<number> {
  let count = 0;
  const expired = await takeExpiredLeases(shard.pool, BATCH);
  const results = await Promise.allSettled(
    expired.map((lease) =>
      log.append(lease.execution_id, [
        { type: 'lease_expired', commandId: lease.command_id, token: lease.claim_token },
      ]),
    ),
  );
  for (const [index, result] of results.entries()) {
    const lease = expired[index];
    if (lease === undefined) continue;
    const ids = { execution_id: lease.execution_id, command_id: lease.command_id };
    if (result.status === 'rejected') {
      logger.error({ ...ids, err: result.reason }, 'could not re-issue a command whose lease expired');
      continue;
    }
    const [outcome] = result.value;
    if (outcome?.refused !== undefined) continue; // it was reported, or cancelled, in the meantime
    count++;
    const again = outcome?.events.some((event) => event?.type === 'command.requeued');
    logger.warn(ids, again ? 'lease expired, command re-issued' : 'lease expired, command given up');
  }
  return count;
}

/** Waits that are over, children and workers that took too long. True when there may be more. */
export async function endDue(shard: Shard, log: Log, logger: Logger): Promise<boolean> {
  const due = await takeDueCommands(shard.pool, BATCH);
  await Promise.all(
    due.map(({ execution_id, command_id, claim_token }) =>
      log
        .append(execution_id, [{ type: 'due', commandId: command_id, token: claim_token }])
        .catch((error: unknown) =>
          logger.error({ err: error, execution_id, command_id }, 'could not act on a deadline; it is tried again'),
        ),
    ),
  );
  return due.length === BATCH;
}

/** False when nobody is waiting, and so nothing was looked up. */
export async function refill(shard: Shard, queue: CommandQueue): Promise<boolean> {
  const wanted = [...queue.wantedPools()];
  if (wanted.length === 0) return false;
  for (const command of await readyCommands(shard.pool, wanted, BATCH)) queue.put(command);
  return true;
}
