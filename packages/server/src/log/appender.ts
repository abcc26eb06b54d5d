// Group commit: everything that waits for a shard goes into its next transaction (batch.ts); only after the commit is anybody answered.
//
// What must stay true:
//   - an execution is in at most one running batch, so its state is changed by one batch at a time;
//   - a batch that fails for a passing reason is tried again; one that the database refuses is taken apart until the culprit is alone.
import type { Fact, Id } from '@noetl/core';
import { isTransient } from '../db/index.js';
import { OverloadedError } from '../errors.js';
import { type BatchOptions, commitBatch, type Job, type Outcome } from './batch.js';

export interface Appender {
  /** Resolves after the commit. Facts of one call are applied in order, in one transaction. */
  append(id: Id, facts: readonly Fact[]): Promise<Outcome[]>;
  /** Waits until nothing is queued or running. */
  idle(): Promise<void>;
}

const MAX_BATCH = 100;
const MAX_QUEUE = 50_000;
/** Two: while Postgres writes one batch, the engine decides the next. More would only make batches smaller. */
const MAX_PARALLEL = 2;
const PATIENCE_MS = 30_000;
const BACKOFF_MS = 100;

export function createAppender(options: BatchOptions): Appender {
  let queue: Job[] = [];
  const busy = new Set<Id>();
  let running = 0;
  let scheduled = false;
  /** When the database was first found away. */
  let awaySince: number | undefined;
  const idle: (() => void)[] = [];

  const schedule = () => {
    if (scheduled) return;
    scheduled = true;
    // A tick later, so that requests which arrive together share one transaction.
    setImmediate(() => {
      scheduled = false;
      pump();
    });
  };

  const pump = () => {
    while (running < MAX_PARALLEL) {
      const batch = take();
      if (batch.length === 0) break;
      const ids = new Set(batch.map((job) => job.id));
      for (const id of ids) busy.add(id);
      running++;
      void run(batch).finally(() => {
        for (const id of ids) busy.delete(id);
        running--;
        if (queue.length > 0) schedule();
        else if (running === 0) for (const wake of idle.splice(0)) wake();
      });
    }
  };

  const take = (): Job[] => {
    const batch: Job[] = [];
    const rest: Job[] = [];
    for (const job of queue) (batch.length < MAX_BATCH && !busy.has(job.id) ? batch : rest).push(job);
    queue = rest;
    return batch;
  };

  const again = (jobs: readonly Job[], error: unknown) => {
    // In a long outage nobody is kept waiting any more. Twice it is tried all the same: the first try may only have found that a connection
    // from before the outage is dead.
    const waiting = (job: Job) =>
      job.attempts === 0 || Date.now() - Math.min(job.since, awaySince ?? job.since) < PATIENCE_MS;
    const patient = jobs.filter(waiting);
    for (const job of jobs) if (!patient.includes(job)) job.reject(error);
    for (const job of patient) job.attempts++;
    queue = [...patient, ...queue];
  };

  async function run(jobs: readonly Job[]): Promise<void> {
    try {
      const stale = await commitBatch(options, jobs);
      awaySince = undefined;
      if (stale.length > 0) again(stale, new Error('the execution kept changing under this request'));
    } catch (error) {
      for (const job of jobs) options.cache.drop(job.id);
      if (isTransient(error)) {
        awaySince ??= Date.now();
        await new Promise((wake) => setTimeout(wake, BACKOFF_MS));
        again(jobs, error);
      } else if (jobs.length === 1) {
        jobs[0]?.reject(error);
      } else {
        // The database refuses something in here: each job on its own finds out which.
        for (const job of jobs) await run([job]);
      }
    }
  }

  return {
    append: (id, facts) =>
      new Promise((resolve, reject) => {
        if (queue.length >= MAX_QUEUE) return reject(new OverloadedError('too many appends are waiting; try again'));
        queue.push({ id, facts, since: Date.now(), attempts: 0, resolve, reject });
        schedule();
      }),
    idle: () => (queue.length === 0 && running === 0 ? Promise.resolve() : new Promise((wake) => idle.push(wake))),
  };
}
