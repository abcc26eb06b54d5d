// Delivers reports: everything that is waiting goes out in one request, at most two requests are under way, and a
// report is kept until the server has answered for it. What must stay true:
//  - the end of a command is never sent while its `command.started` is on the way in another request;
//  - a report leaves the queue only by an answer of the server (recorded, or refused for good), or by close();
//  - the slot of a finished command is given back exactly once, with the answer (`onDelivered`).
import type { CommandReport, LeasedCommand, ReportResponse } from '@noetl/client';
import { type ApiFailure, describeFailure, refusesBody } from './api.js';
import { backoffMs } from './backoff.js';
import { rejectedReport } from './events.js';
import { jsonSize } from './json-size.js';
import type { WorkerLog } from './log.js';
import type { WorkerMetrics } from './metrics.js';

export interface Reporter {
  /** `final` reports end their command and free its slot. Throws when the report has no JSON form. */
  enqueue(report: CommandReport, final: boolean): void;
  /** Takes back a `command.started` that was never sent; false when it was sent, or not queued. */
  withdraw(commandId: string, claimToken: number): boolean;
  /** Resolves when nothing is queued and nothing is under way. */
  idle(): Promise<void>;
  close(): void;
}

export interface ReporterOptions {
  /** One request; `slots` is how many commands it may bring back. */
  send(reports: CommandReport[], slots: number): Promise<ReportResponse>;
  /** The server has answered for these finished commands: their slots are free, and filled by `commands` first. */
  onDelivered(finished: readonly CommandReport[], commands: readonly LeasedCommand[]): void;
  readonly log: WorkerLog;
  readonly metrics?: WorkerMetrics;
  readonly maxReports?: number;
  readonly maxBytes?: number;
}

interface Item {
  readonly report: CommandReport;
  readonly final: boolean;
  readonly bytes: number;
  /** True once it has been in a request: the server may have recorded it, whatever we heard. */
  sent: boolean;
  /** True for the stand-in of a refused report. */
  readonly standIn: boolean;
}

const MAX_REQUESTS = 2;
const MAX_REPORTS = 500;
/** How long a report waits that the server could not record although it answers. */
const PARKED_MS = 1_000;
const MAX_BYTES = 4 * 1024 * 1024;

export function createReporter(options: ReporterOptions): Reporter {
  const { log, metrics, maxReports = MAX_REPORTS, maxBytes = MAX_BYTES } = options;
  let queue: Item[] = [];
  let requests = 0;
  let failures = 0;
  let closed = false;
  let scheduled = false;
  let retryTimer: NodeJS.Timeout | undefined;
  const startsOnTheWay = new Set<string>();
  const parked = new Set<Item>();
  const parkTimers = new Set<NodeJS.Timeout>();
  let idlers: (() => void)[] = [];

  /** Waits for the end of this turn of the event loop, so that commands that finish together are reported together. */
  const schedule = (): void => {
    if (scheduled || closed || retryTimer !== undefined) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      pump();
    });
  };

  const pump = (): void => {
    while (!closed && retryTimer === undefined && requests < MAX_REQUESTS) {
      const batch = takeBatch();
      if (batch.length === 0) break;
      requests += 1;
      for (const item of batch) if (!item.final) startsOnTheWay.add(keyOf(item.report));
      void deliver(batch).finally(() => {
        requests -= 1;
        for (const item of batch) if (!item.final) startsOnTheWay.delete(keyOf(item.report));
        schedule();
        wakeIdlers();
      });
    }
    wakeIdlers();
  };

  const takeBatch = (): Item[] => {
    const batch: Item[] = [];
    const rest: Item[] = [];
    let bytes = 0;
    let full = false;
    for (const item of queue) {
      // Once full, stay full: a smaller report from behind must not overtake the start of its own command.
      full ||= batch.length >= maxReports || (batch.length > 0 && bytes + item.bytes > maxBytes);
      if (full || isStarting(item.report)) {
        rest.push(item);
      } else {
        batch.push(item);
        bytes += item.bytes;
      }
    }
    queue = rest;
    return batch;
  };

  /** Never rejects. Batches that a refusal split are delivered one after the other. */
  const deliver = async (first: Item[]): Promise<void> => {
    const batches = [first];
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      try {
        await sendBatch(batch);
      } catch (error) {
        if (closed) return;
        const failure = describeFailure(error);
        if (refusesBody(failure)) batches.unshift(...divide(batch, failure));
        else return putBack([batch, ...batches].flat(), failure);
      }
    }
  };

  const sendBatch = async (batch: readonly Item[]): Promise<void> => {
    const finals = batch.filter((item) => item.final);
    for (const item of batch) item.sent = true;
    const startedAt = performance.now();
    const response = await options.send(
      batch.map((item) => item.report),
      finals.length,
    );
    failures = 0;
    const away = batch.filter((_, index) => response.results[index]?.status === 'unavailable');
    metrics?.emitted(batch.map(typeOf), (performance.now() - startedAt) / 1000);
    batch.forEach((item, index) => {
      const answer = response.results[index];
      if (answer === undefined || answer.status === 'ok' || answer.status === 'duplicate') return;
      if (answer.status === 'unavailable') return;
      metrics?.emitFailed([typeOf(item)]);
      log.warn({ ...idsOf(item.report), status: answer.status, reason: answer.error }, 'report refused and dropped');
    });
    if (away.length > 0) park(away);
    const finished = finals.filter((item) => !away.includes(item)).map((item) => item.report);
    if (finished.length > 0 || response.commands.length > 0) options.onDelivered(finished, response.commands);
  };

  /** The server refused the request as such. Halves find the culprit in a few requests and spare its neighbours. */
  const divide = (batch: Item[], failure: ApiFailure): Item[][] => {
    if (batch.length > 1) {
      const middle = Math.ceil(batch.length / 2);
      return [batch.slice(0, middle), batch.slice(middle)];
    }
    const [item] = batch;
    if (item === undefined) return [];
    metrics?.emitFailed([typeOf(item)]);
    log.error(
      { ...idsOf(item.report), status: failure.status, reason: failure.message },
      'the server cannot read a report',
    );
    if (!item.final) return [];
    if (item.standIn) {
      options.onDelivered([item.report], []);
      return [];
    }
    return [[newItem(rejectedReport(item.report, failure.message, new Date()), true, true)]];
  };

  const putBack = (items: Item[], failure: ApiFailure): void => {
    failures += 1;
    queue = [...items, ...queue];
    metrics?.emitRetried(items.map(typeOf));
    const waitMs = backoffMs(failures, failure);
    log.warn(
      { reports: items.length, status: failure.status, reason: failure.message, waitMs },
      'reports not delivered',
    );
    clearTimeout(retryTimer);
    retryTimer = setTimeout(() => {
      retryTimer = undefined;
      pump();
    }, waitMs);
  };

  /** The server could not record these, but others: they come again by themselves, and nothing else waits for them. */
  const park = (items: Item[]): void => {
    for (const item of items) parked.add(item);
    metrics?.emitRetried(items.map(typeOf));
    log.warn({ reports: items.length, waitMs: PARKED_MS }, 'the database of some executions does not answer');
    const timer = setTimeout(() => {
      parkTimers.delete(timer);
      for (const item of items) parked.delete(item);
      queue = [...items, ...queue];
      schedule();
    }, PARKED_MS);
    parkTimers.add(timer);
  };

  const isStarting = (report: CommandReport): boolean => {
    const key = keyOf(report);
    return startsOnTheWay.has(key) || [...parked].some((item) => !item.final && keyOf(item.report) === key);
  };

  const wakeIdlers = (): void => {
    if (!closed && (queue.length > 0 || requests > 0 || parked.size > 0)) return;
    const waiting = idlers;
    idlers = [];
    for (const wake of waiting) wake();
  };

  return {
    enqueue(report, final) {
      queue.push(newItem(report, final, false));
      schedule();
    },
    withdraw(commandId, claimToken) {
      const index = queue.findIndex(
        ({ report, final, sent }) =>
          !final && !sent && report.command_id === commandId && report.claim_token === claimToken,
      );
      if (index >= 0) queue.splice(index, 1);
      return index >= 0;
    },
    idle() {
      return new Promise((resolve) => {
        idlers.push(resolve);
        wakeIdlers();
      });
    },
    close() {
      closed = true;
      clearTimeout(retryTimer);
      for (const timer of parkTimers) clearTimeout(timer);
      wakeIdlers();
    },
  };
}

function newItem(report: CommandReport, final: boolean, standIn: boolean): Item {
  return { report, final, bytes: jsonSize(report), sent: false, standIn };
}

function keyOf({ command_id, claim_token }: CommandReport): string {
  return `${claim_token} ${command_id}`;
}

function typeOf({ report }: Item): string {
  return report.events.at(-1)?.event_type ?? 'command.started';
}

function idsOf({ execution_id, command_id }: CommandReport): { execution_id: string; command_id: string } {
  return { execution_id, command_id };
}
