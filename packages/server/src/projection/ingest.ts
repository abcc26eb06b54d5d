// Events that others have made, stored without driving anything: rows of a stream (`project`) and native events of producers
// (`materialize`). Each event is stored once, however often it is sent; one that cannot be stored is reported and stops no other.
//
// Who writes depends on who drives the execution. Ours go through the append, like everything in their logs, so that the version is gap-free
// and no cached state can be stale; an event that could move them is stored with `meta.external: true`, because only a decision may do that
// (docs/decisions/0007). Executions that began elsewhere are imported as they are (import.ts).
import {
  decode,
  type Fact,
  type Id,
  idTimestampMs,
  isObject,
  type Json,
  type JsonObject,
  type ProducedEvent,
  parseId,
} from '@noetl/core';
import { ensurePartitionOf, isTransient, type Pools } from '../db/index.js';
import { ApiProblem, OverloadedError } from '../errors.js';
import { type IncomingEvent, type Log, normaliseEvent } from '../log/index.js';
import { BadEvent, type ReceivedEvent, readEnvelope } from './envelope.js';
import { importEvents } from './import.js';
import { executionOrigins } from './store.js';

export interface Ingested {
  readonly stored: number;
  readonly duplicates: number;
  readonly rejected: readonly Rejected[];
}

export interface Rejected {
  readonly index: number;
  readonly error: string;
}

export interface Ingest {
  project(items: readonly Json[]): Promise<Ingested>;
  materialize(items: readonly Json[]): Promise<Ingested>;
}

interface Item extends ReceivedEvent {
  readonly index: number;
}

interface Counts {
  stored: number;
  duplicates: number;
  readonly rejected: Rejected[];
}

const PARALLEL = 4;
/** Clocks differ, but not by days. */
const FUTURE_MS = 86_400_000;

export function createIngest(deps: { log: Log; pools: Pools; nextId(): Id }): Ingest {
  const { log, pools } = deps;

  return {
    project(items) {
      const now = new Date().toISOString();
      return ingest(items, (item) => readEnvelope(item, now), '0' as Id);
    },
    materialize(items) {
      const now = new Date().toISOString();
      return ingest(items, (item) => readNative(item, now), null);
    },
  };

  function readNative(item: Json, now: string): ReceivedEvent {
    if (!isObject(item)) throw new BadEvent('must be an object');
    const executionId = parseId(item.execution_id);
    if (executionId === undefined) throw new BadEvent('Invalid execution_id');
    const { row } = normaliseEvent(item as IncomingEvent, { now, actionable: true, nextId: deps.nextId });
    const event = { ...row, event_id: row.event_id ?? deps.nextId() };
    return { executionId, event, catalogId: null, tenantId: 'default', organizationId: 'default' };
  }

  async function ingest(
    items: readonly Json[],
    read: (item: Json) => ReceivedEvent,
    catalogId: Id | null,
  ): Promise<Ingested> {
    const counts: Counts = { stored: 0, duplicates: 0, rejected: [] };
    const byExecution = new Map<Id, Item[]>();
    for (const [index, item] of items.entries()) {
      try {
        const received = { index, ...read(item) };
        if (idTimestampMs(received.executionId) > Date.now() + FUTURE_MS)
          throw new BadEvent('its execution lies in the future');
        const list = byExecution.get(received.executionId);
        if (list === undefined) byExecution.set(received.executionId, [received]);
        else list.push(received);
      } catch (error) {
        if (!(error instanceof BadEvent) && !(error instanceof ApiProblem)) throw error;
        counts.rejected.push({ index, error: error.message });
      }
    }
    const origins = await executionOrigins(pools, [...byExecution.keys()]);
    const work = [...byExecution];
    // A few at a time: each takes a connection, and the requests of others need some, too.
    await Promise.all(
      Array.from({ length: PARALLEL }, async () => {
        for (let next = work.pop(); next !== undefined; next = work.pop()) {
          const [id, list] = next;
          if (origins.get(id) === 'ours') await append(id, list, counts);
          else await importAll(id, list, catalogId, counts);
        }
      }),
    );
    return { ...counts, rejected: counts.rejected.sort((a, b) => a.index - b.index) };
  }

  async function append(id: Id, items: readonly Item[], counts: Counts): Promise<void> {
    const facts = items.map(({ event }): Fact => ({ type: 'event', row: withoutPower(id, event) }));
    await isolating(
      items,
      counts,
      (half) => append(id, half, counts),
      async () => {
        const outcomes = await log.append(id, facts);
        for (const [index, item] of items.entries()) {
          const outcome = outcomes[index];
          if (outcome?.duplicate === true) counts.duplicates++;
          else if (outcome?.refused === undefined) counts.stored++;
          else counts.rejected.push({ index: item.index, error: `the execution refused it: ${outcome.refused}` });
        }
      },
    );
  }

  async function importAll(id: Id, items: readonly Item[], catalogId: Id | null, counts: Counts): Promise<void> {
    const again = (half: readonly Item[]) => importAll(id, half, catalogId, counts);
    await isolating(items, counts, again, async () => {
      const { pool } = pools.forExecution(id);
      await ensurePartitionOf(pool, id);
      const imported = await importEvents(pool, id, items, { catalogId });
      switch (imported.type) {
        case 'driven':
          return append(id, items, counts);
        case 'unknown':
          for (const { index } of items) counts.rejected.push({ index, error: `Execution not found: ${id}` });
          return;
        case 'stored':
          counts.stored += imported.stored;
          counts.duplicates += items.length - imported.stored;
          if (imported.stored > 0) log.feed.publish(id);
      }
    });
  }
}

/** What the database refuses is looked for by halves, in order, until it is alone. */
async function isolating(
  items: readonly Item[],
  counts: Counts,
  again: (half: readonly Item[]) => Promise<void>,
  write: () => Promise<void>,
): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (isTransient(error) || error instanceof OverloadedError) throw error;
    if (items.length === 1 || !isRefusal(error)) {
      for (const { index } of items) counts.rejected.push({ index, error: reason(error) });
      return;
    }
    const middle = Math.ceil(items.length / 2);
    await again(items.slice(0, middle));
    await again(items.slice(middle));
  }
}

/** A value that no column takes, or a constraint: one row is to blame. Anything else concerns all of them. */
function isRefusal(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^2[23][0-9A-Z]{3}$/.test(code);
}

/** The text of a database error may hold data of the row; its first line says what is wrong. */
function reason(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error);
}

/** Stored, shown, replayed; but no decision follows from it, and so it must not look as if one had. */
function withoutPower(id: Id, event: ProducedEvent & { readonly event_id: Id }): ProducedEvent {
  const row = { ...event, execution_id: id, stream_version: 0, catalog_id: '0' as Id };
  if (decode(row) === undefined) return event;
  const meta: JsonObject = isObject(event.meta) ? event.meta : {};
  return { ...event, meta: { ...meta, external: true } };
}
