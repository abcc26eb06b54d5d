import type { LeasedCommand } from '@noetl/client';
import { describe, expect, it } from 'vitest';
import { endingEvents, rejectedReport, reportOf, startedEvent } from './events.js';
import { ToolError } from './tools/errors.js';

const command: LeasedCommand = {
  execution_id: '325',
  event_id: '326',
  command_id: '325:fetch:326',
  step: 'fetch',
  tool_kind: 'http',
  attempt: 2,
  max_attempts: 3,
  claim_token: 7,
  lease_ms: 30_000,
  context: { tool_config: {}, args: {}, render_context: {} },
  meta: {},
};
const times = {
  startedAt: new Date('2026-01-02T03:04:05.100Z'),
  finishedAt: new Date('2026-01-02T03:04:05.900Z'),
  durationMs: 800,
};
const { command_id } = command;
const meta = { command_id, attempt: 2, duration_ms: 800 };
const created_at = '2026-01-02T03:04:05.900Z';

describe('the events of a command', () => {
  it('begin with the moment it started', () => {
    expect(startedEvent(command, times.startedAt)).toEqual({
      event_type: 'command.started',
      status: 'STARTED',
      created_at: '2026-01-02T03:04:05.100Z',
      context: { command_id, started_at: '2026-01-02T03:04:05.100Z' },
      meta: { command_id, attempt: 2 },
    });
  });

  it('carry the whole result of a success', () => {
    const events = endingEvents(command, { type: 'returned', result: { status: 'success', data: { n: 1 } } }, times);
    const context = { status: 'success', data: { n: 1 }, duration_ms: 800 };
    expect(events).toEqual([
      {
        event_type: 'call.done',
        status: 'COMPLETED',
        created_at,
        context: { command_id, call_index: 0, result: { status: 'success', context } },
        meta,
      },
      {
        event_type: 'command.completed',
        status: 'success',
        created_at,
        context: { command_id, status: 'success' },
        meta,
      },
    ]);
  });

  it.each(['error', 'timeout'] as const)('make a tool status %s a failure that keeps the result', (status) => {
    const error_info = { kind: 'timeout', retryable: true, code: 'C', message: 'm', source: 'http' } as const;
    const result = { status, error: 'broken', error_info, data: { code: 500 }, duration_ms: 5 };
    expect(endingEvents(command, { type: 'returned', result }, times)).toEqual([
      {
        event_type: 'call.error',
        status: 'FAILED',
        created_at,
        context: { command_id, call_index: 0, error: 'broken', error_info, result: { status, context: result } },
        meta,
      },
      {
        event_type: 'command.failed',
        status: 'FAILED',
        created_at,
        context: { command_id, error: 'broken', error_info },
        meta,
      },
    ]);
  });

  it('explain an error that a tool raised', () => {
    const error = new ToolError('Database error: x', { kind: 'db_timeout', retryable: true, code: 'C', source: 'pg' });
    const [call, end] = endingEvents(command, { type: 'raised', error }, times);
    expect(call?.context).toEqual({ command_id, call_index: 0, error: 'Database error: x', error_info: error.info });
    expect(end?.context).toEqual({ command_id, error: 'Database error: x', error_info: error.info });
  });

  it('say that it was cancelled, and nothing else', () => {
    expect(endingEvents(command, { type: 'cancelled' }, times)).toEqual([
      { event_type: 'command.cancelled', status: 'CANCELLED', created_at, context: { command_id }, meta },
    ]);
  });

  it('shrink to a failure when the server cannot read them', () => {
    const report = reportOf(command, [startedEvent(command, times.startedAt)]);
    const standIn = rejectedReport(report, 'HTTP 413', times.finishedAt);
    expect(standIn).toMatchObject({ execution_id: '325', command_id, claim_token: 7 });
    expect(standIn.events).toHaveLength(1);
    expect(standIn.events[0]).toMatchObject({
      event_type: 'command.failed',
      context: { command_id, error_info: { code: 'REPORT_REJECTED', retryable: false } },
    });
  });
});
