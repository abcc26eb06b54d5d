// Carries operations out, some items at a time, on whichever server gets to them first.
import { isObject } from '@noetl/core';
import type { Logger } from 'pino';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import { cancelTree, type Rerunner } from '../executions/index.js';
import type { Log } from '../log/index.js';
import { finishItems, type ItemOutcome, type OpenItem, takeItems } from './store.js';

const BATCH = 50;

export interface RunnerOptions {
  readonly log: Log;
  readonly pools: Pools;
  readonly rerunner: Rerunner;
  readonly logger: Logger;
}

/** True when there may be more. */
export async function runOperations(options: RunnerOptions): Promise<boolean> {
  const items = await takeItems(options.pools.cluster, BATCH);
  const tried = await Promise.all(items.map((item) => attempt(options, item)));
  const outcomes = tried.filter((outcome) => outcome !== undefined);
  if (outcomes.length > 0) await finishItems(options.pools.cluster, outcomes);
  return items.length === BATCH && outcomes.length > 0;
}

/** Undefined: something is in the way that will pass; the item is taken up again when its lease has run out. */
async function attempt(options: RunnerOptions, item: OpenItem): Promise<ItemOutcome | undefined> {
  const ids = { operation: item.operation_id, execution: item.execution_id };
  try {
    const done = item.action === 'cancel' ? await cancel(options, item) : await rerun(options, item);
    return { ...ids, status: done ? 'DONE' : 'SKIPPED', error: null };
  } catch (error) {
    if (error instanceof ApiProblem && error.status < 500) return { ...ids, status: 'FAILED', error: error.message };
    options.logger.warn(
      { err: error, operation_id: item.operation_id, execution_id: item.execution_id },
      'an item of an operation was not done; it is tried again',
    );
    return undefined;
  }
}

async function cancel({ log, pools }: RunnerOptions, { execution_id: id, request }: OpenItem): Promise<boolean> {
  const reason = typeof request.reason === 'string' ? request.reason : 'bulk cancel';
  return (await cancelTree(log, pools, id, reason, true)).includes(id);
}

async function rerun({ rerunner }: RunnerOptions, item: OpenItem): Promise<boolean> {
  const { execution_id: id, target_id: target, request } = item;
  await rerunner.rerun(id, isObject(request) ? request : {}, target === null ? {} : { target });
  return true;
}
