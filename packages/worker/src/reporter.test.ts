import type { CommandReport, ReportResponse } from '@noetl/client';
import { describe, expect, it } from 'vitest';
import { silentLog } from './log.js';
import { createReporter } from './reporter.js';

function report(id: string, text = ''): CommandReport {
  const context = { command_id: id, text };
  const event = { event_type: 'command.completed', status: 'success', created_at: '', context } as const;
  return { execution_id: 'x', command_id: id, claim_token: 1, events: [event] };
}

function accepted(reports: readonly CommandReport[]): ReportResponse {
  return { results: reports.map(({ command_id }) => ({ command_id, status: 'ok' })), commands: [] };
}

describe('the size of a report request', () => {
  const batchesOf = async (reports: CommandReport[], limits: { maxReports?: number; maxBytes?: number }) => {
    const batches: string[][] = [];
    const reporter = createReporter({
      send: async (sent) => {
        batches.push(sent.map(({ command_id }) => command_id));
        return accepted(sent);
      },
      onDelivered: () => undefined,
      log: silentLog,
      ...limits,
    });
    for (const one of reports) reporter.enqueue(one, true);
    await reporter.idle();
    reporter.close();
    return batches;
  };

  it('is limited by the number of reports', async () => {
    const reports = ['a', 'b', 'c', 'd', 'e'].map((id) => report(id));
    expect(await batchesOf(reports, { maxReports: 2 })).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  });

  it('is limited by bytes, though one report always fits', async () => {
    const reports = [report('a', 'x'.repeat(500)), report('b', 'x'.repeat(5000)), report('c'), report('d')];
    expect(await batchesOf(reports, { maxBytes: 1000 })).toEqual([['a'], ['b'], ['c', 'd']]);
  });
});

describe('a start that is waiting to be announced', () => {
  it('can be withdrawn before it is sent, once', async () => {
    const sent: CommandReport[] = [];
    const reporter = createReporter({
      send: async (reports) => {
        sent.push(...reports);
        return accepted(reports);
      },
      onDelivered: () => undefined,
      log: silentLog,
    });
    reporter.enqueue(report('a'), false);
    expect(reporter.withdraw('a', 2)).toBe(false);
    expect(reporter.withdraw('a', 1)).toBe(true);
    expect(reporter.withdraw('a', 1)).toBe(false);
    await reporter.idle();
    reporter.close();
    expect(sent).toEqual([]);
  });
});

describe('a report that the server could not record, though it recorded others', () => {
  it('comes again by itself; the others are delivered, and their slots free', async () => {
    const requests: string[][] = [];
    const delivered: string[] = [];
    const reporter = createReporter({
      send: async (sent) => {
        const isFirst = requests.length === 0;
        requests.push(sent.map(({ command_id }) => command_id));
        const statusOf = (id: string) => (isFirst && id === 'away' ? 'unavailable' : 'ok');
        return {
          results: sent.map(({ command_id }) => ({ command_id, status: statusOf(command_id) })),
          commands: [],
        };
      },
      onDelivered: (finished) => delivered.push(...finished.map(({ command_id }) => command_id)),
      log: silentLog,
    });
    reporter.enqueue(report('away'), true);
    reporter.enqueue(report('here'), true);
    await reporter.idle();
    reporter.close();
    expect(requests).toEqual([['away', 'here'], ['away']]);
    expect(delivered).toEqual(['here', 'away']);
  });

  it('keeps the end of its command back while it is the start', async () => {
    const sent: string[] = [];
    const reporter = createReporter({
      send: async (reports) => {
        const isFirst = sent.length === 0;
        sent.push(...reports.map(({ events }) => String(events[0]?.status)));
        const status = isFirst ? 'unavailable' : 'ok';
        return { results: reports.map(({ command_id }) => ({ command_id, status })), commands: [] };
      },
      onDelivered: () => undefined,
      log: silentLog,
    });
    const [event] = report('a').events;
    if (event === undefined) throw new Error('a report has an event');
    const started = { ...report('a'), events: [{ ...event, status: 'started' }] };
    reporter.enqueue(started, false);
    await new Promise((next) => setImmediate(next));
    await new Promise((next) => setImmediate(next));
    reporter.enqueue(report('a'), true);
    await reporter.idle();
    reporter.close();
    expect(sent).toEqual(['started', 'started', 'success']);
  });
});

describe('a closed reporter', () => {
  it('lets nobody wait', async () => {
    const reporter = createReporter({
      send: () => new Promise(() => undefined),
      onDelivered: () => undefined,
      log: silentLog,
    });
    reporter.enqueue(report('a'), true);
    const idle = reporter.idle();
    reporter.close();
    await idle;
  });
});
