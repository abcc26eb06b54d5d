// Server-sent events of one execution. The log is read in order from where the client left off, so nothing is lost or doubled over a
// reconnect; the feed only says when to look again.
import type { ServerResponse } from 'node:http';
import { type Id, stringifyJson } from '@noetl/core';
import type { Pools } from '../db/index.js';
import { type Log, readEvents } from '../log/index.js';
import { executionById } from './store.js';
import { wireEvent } from './views.js';

const PAGE = 500;
const POLL_MS = 1_000;
const HEARTBEAT_MS = 15_000;

export async function streamEvents(
  response: ServerResponse,
  options: { id: Id; after: number; log: Log; pools: Pools; closing: AbortSignal; onError(error: unknown): void },
): Promise<void> {
  const { id, log } = options;
  const { pool } = options.pools.forExecution(id);
  let version = options.after;
  let closed = false;
  let wake: () => void = () => undefined;
  const leave = () => {
    closed = true;
    wake();
  };
  response.on('close', leave);
  options.closing.addEventListener('abort', leave, { once: true });
  const unsubscribe = log.feed.subscribe(id, () => wake());
  /** A slow reader slows us, not our memory. */
  const send = async (text: string) => {
    if (response.write(text) || closed) return;
    await new Promise<void>((resume) => {
      response.once('drain', resume);
      response.once('close', resume);
    });
  };
  try {
    let lastBeat = Date.now();
    while (!closed) {
      // Subscribed before reading: an event that commits in between wakes the next round.
      let woken = false;
      const news = new Promise<void>((resolve) => {
        wake = () => {
          woken = true;
          resolve();
        };
      });
      const rows = await readEvents(pool, id, version, PAGE);
      for (const row of rows) {
        version = row.stream_version;
        await send(`id: ${row.event_id}\nevent: event\ndata: ${stringifyJson(wireEvent(row))}\n\n`);
        if (closed) return;
      }
      if (rows.length === PAGE || woken) continue;
      const execution = await executionById(pool, id);
      if (execution !== undefined && execution.end_time !== null && execution.head_version <= version) {
        await send(`event: status\ndata: ${stringifyJson({ execution_id: id, status: execution.status })}\n\n`);
        return;
      }
      if (Date.now() - lastBeat > HEARTBEAT_MS) {
        lastBeat = Date.now();
        await send(': alive\n\n');
      }
      let timer: NodeJS.Timeout | undefined;
      await Promise.race([
        news,
        new Promise((resolve) => {
          timer = setTimeout(resolve, POLL_MS);
        }),
      ]);
      clearTimeout(timer);
    }
  } catch (error) {
    options.onError(error);
  } finally {
    unsubscribe();
    options.closing.removeEventListener('abort', leave);
    response.end();
  }
}
