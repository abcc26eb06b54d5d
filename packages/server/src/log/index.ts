// The log of executions: the only way to write an event, and the way to read a state back.
import type { CompiledPlaybook, ExecutionState, Fact, Id, World } from '@noetl/core';
import type { Pools } from '../db/index.js';
import { createAppender } from './appender.js';
import {
  type BatchOptions,
  type BatchStats,
  type Committed,
  foldInto,
  type Offer,
  type Outcome,
  type ReferenceSource,
  type Taker,
} from './batch.js';
import { createStateCache } from './cache.js';
import { createFeed, type Feed } from './feed.js';
import { createReader } from './reader.js';

export type { BatchStats, Committed, Offer, Outcome, Taker } from './batch.js';
export type { Feed } from './feed.js';
export { type IncomingEvent, normaliseEvent, statusFromName } from './normalise.js';
export { type CommandInsert, commandChanges, type ExecutionChange, executionChange } from './project.js';
export { eventRoutes } from './routes.js';
export {
  createSnapshots,
  IS_INTACT,
  SNAPSHOT_TYPE,
  type Snapshots,
  save as saveSnapshots,
  type Taken as TakenSnapshot,
  take as takeSnapshot,
} from './snapshots.js';
export { eventPage, eventVersion, readEvents } from './store.js';
export { utcTime } from './utc-time.js';

export interface Log {
  /** Resolves once the facts and all they lead to are on disk. */
  append(id: Id, facts: readonly Fact[]): Promise<Outcome[]>;
  /** The committed state, folded from the log; undefined when there is no such execution. It moves on with the next read. */
  state(id: Id): Promise<Readonly<ExecutionState> | undefined>;
  readonly feed: Feed;
  idle(): Promise<void>;
}

export interface LogOptions {
  readonly pools: Pools;
  readonly leaseMs: number;
  world(): World;
  playbook(catalogId: Id): Promise<CompiledPlaybook>;
  readonly references: ReferenceSource;
  tell: BatchOptions['tell'];
  offer(offer: Offer): Taker | undefined;
  committed(committed: Committed): void;
  onBrokenSnapshot(ids: readonly Id[]): void;
  observe(stats: BatchStats): void;
}

const CACHE = { states: 20_000, events: 2_000_000 };

export function createLog(options: LogOptions): Log {
  const { pools } = options;
  const feed = createFeed();
  const cache = createStateCache(CACHE);
  const appenders = pools.shards.map((shard) =>
    createAppender({
      shard,
      cache,
      leaseMs: options.leaseMs,
      world: options.world,
      playbook: options.playbook,
      references: options.references,
      tell: options.tell,
      offer: options.offer,
      observe: options.observe,
      onBrokenSnapshot: options.onBrokenSnapshot,
      committed(committed) {
        options.committed(committed);
        feed.publish(committed.state.executionId);
      },
    }),
  );
  return {
    feed,
    append(id, facts) {
      const appender = appenders[pools.forExecution(id).index];
      if (appender === undefined) throw new Error(`no appender for execution ${id}`);
      return appender.append(id, facts);
    },
    state: createReader((state) => foldInto(pools.forExecution(state.executionId), state, options.onBrokenSnapshot)),
    async idle() {
      await Promise.all(appenders.map((appender) => appender.idle()));
    },
  };
}
