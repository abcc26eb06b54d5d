import type { CommandState, DomainEvent, EventRow, Id } from '@noetl/core';
import { describe, expect, it } from 'vitest';
import { type OutboxRules, outboxRowsOf, type Told } from './rows.js';

const EXECUTION = '331000000000000001' as Id;
const COMMAND = `${EXECUTION}:fetch:331000000000000003`;
const SILENT: OutboxRules = { announceCommands: false, mirrorEvents: false, serverUrl: 'http://noetl:8082' };
const ANNOUNCED: OutboxRules = { ...SILENT, announceCommands: true };
const MIRRORED: OutboxRules = { ...SILENT, mirrorEvents: true };

function row(type: string, eventId: string, more: Partial<EventRow> = {}): EventRow {
  return {
    execution_id: EXECUTION,
    event_id: eventId as Id,
    stream_version: 1,
    catalog_id: '7' as Id,
    parent_event_id: null,
    parent_execution_id: null,
    event_type: type,
    node_id: 'fetch',
    node_name: 'fetch',
    node_type: null,
    status: null,
    command_id: null,
    worker_id: null,
    duration: null,
    context: null,
    result: null,
    meta: null,
    error: null,
    created_at: '2026-06-17T16:48:21.379Z',
    ...more,
  };
}

const issued = { type: 'command.issued', commandId: COMMAND, step: 'fetch', pool: 'gpu' } as DomainEvent;
const requeued = { type: 'command.requeued', commandId: COMMAND, step: 'fetch', delayMs: 1_500 } as DomainEvent;
const ended: DomainEvent = {
  type: 'playbook.ended',
  status: 'FAILED',
  error: 'no luck',
  failedSteps: ['fetch'],
  reason: 'quiescent',
};

function state(more: Partial<Told> = {}, status: CommandState['status'] = 'PENDING'): Told {
  const command = { commandId: COMMAND, eventId: '331000000000000003', step: 'fetch', pool: 'gpu', status };
  return {
    path: 'team/report',
    catalogId: '7' as Id,
    trace: null,
    startedAt: '2026-06-17T16:48:20.000Z',
    callbackUrl: null,
    commands: { [COMMAND]: command as CommandState },
    ...more,
  };
}

describe('with everything switched off', () => {
  it('nothing is told', () => {
    expect(outboxRowsOf([row('command.issued', '331000000000000003')], [issued], state(), SILENT)).toEqual([]);
  });
});

describe('a command', () => {
  const rows = [row('command.issued', '331000000000000003')];

  it('is announced to the workers of its pool, with ids as integers', () => {
    expect(outboxRowsOf(rows, [issued], state(), ANNOUNCED)).toEqual([
      {
        topic: 'command',
        subject: `noetl.commands.gpu.${EXECUTION}`,
        msg_id: `command:${EXECUTION}:331000000000000003`,
        ordering_key: EXECUTION,
        execution_id: EXECUTION,
        event_id: '331000000000000003',
        payload: {
          execution_id: 331000000000000001n,
          event_id: 331000000000000003n,
          command_id: COMMAND,
          step: 'fetch',
          server_url: 'http://noetl:8082',
          execution_pool: 'gpu',
        },
        headers: {},
        delay_ms: 0,
      },
    ]);
  });

  it('carries the trace of its execution', () => {
    const [told] = outboxRowsOf(rows, [issued], state({ trace: { traceparent: '00-1' } }), ANNOUNCED);
    expect(told?.payload).toMatchObject({ trace: { traceparent: '00-1' } });
  });

  it.each(['CLAIMED', 'RUNNING', 'WAITING'] as const)('is not announced when it is %s already', (status) => {
    expect(outboxRowsOf(rows, [issued], state({}, status), ANNOUNCED)).toEqual([]);
  });

  it('is not announced when it ended in the same append', () => {
    expect(outboxRowsOf(rows, [issued], state({ commands: {} }), ANNOUNCED)).toEqual([]);
  });

  it('is announced again when it is back in the queue, after its delay, under an id of its own', () => {
    const again = [row('command.requeued', '331000000000000009')];
    expect(outboxRowsOf(again, [requeued], state(), ANNOUNCED)).toMatchObject([
      {
        msg_id: `command:${EXECUTION}:331000000000000009`,
        delay_ms: 1_500,
        payload: { event_id: 331000000000000003n },
      },
    ]);
  });

  it('of a pool with a strange name still has a subject', () => {
    const odd = state();
    const command = { ...odd.commands[COMMAND], pool: 'a b.*>' } as CommandState;
    const [told] = outboxRowsOf(rows, [issued], { ...odd, commands: { [COMMAND]: command } }, ANNOUNCED);
    expect(told?.subject).toBe(`noetl.commands.a_b___.${EXECUTION}`);
  });
});

describe('the mirror', () => {
  it('tells every event, those that move nothing included, with ids as integers', () => {
    const parent = '331000000000000002' as Id;
    const rows = [row('custom.note', '331000000000000004', { parent_event_id: parent })];
    expect(outboxRowsOf(rows, [undefined], state(), MIRRORED)).toMatchObject([
      {
        topic: 'event',
        subject: 'noetl.events.custom.note',
        msg_id: `event:${EXECUTION}:331000000000000004`,
        payload: {
          event_id: 331000000000000004n,
          execution_id: 331000000000000001n,
          catalog_id: 7n,
          parent_event_id: 331000000000000002n,
          parent_execution_id: null,
          event_type: 'custom.note',
          created_at: '2026-06-17T16:48:21.379Z',
        },
      },
    ]);
  });

  it.each([
    ['a b', 'noetl.events.a_b'],
    ['x..y', 'noetl.events.x.unknown.y'],
    ['', 'noetl.events.unknown'],
    ['command.*', 'noetl.events.command._'],
  ])('publishes the type %j as %s', (type, subject) => {
    expect(outboxRowsOf([row(type, '5')], [undefined], state(), MIRRORED)[0]?.subject).toBe(subject);
  });

  it('masks secrets', () => {
    const rows = [row('call.done', '5', { context: { password: 'hunter2', rows: 3 } })];
    const [told] = outboxRowsOf(rows, [undefined], state(), MIRRORED);
    expect(told?.payload).toMatchObject({ context: { password: expect.not.stringContaining('hunter2'), rows: 3 } });
  });
});

describe('the end of an execution', () => {
  const rows = [row('playbook.failed', '331000000000000010', { node_name: 'playbook' })];

  it('is told to the URL that asked for it', () => {
    expect(outboxRowsOf(rows, [ended], state({ callbackUrl: 'https://example.com/hook' }), SILENT)).toEqual([
      {
        topic: 'callback',
        subject: 'https://example.com/hook',
        msg_id: `callback:${EXECUTION}:331000000000000010`,
        ordering_key: EXECUTION,
        execution_id: EXECUTION,
        event_id: '331000000000000010',
        payload: {
          type: 'execution.ended',
          execution_id: EXECUTION,
          event_id: '331000000000000010',
          path: 'team/report',
          catalog_id: '7',
          status: 'FAILED',
          error: 'no luck',
          started_at: '2026-06-17T16:48:20.000Z',
          ended_at: '2026-06-17T16:48:21.379Z',
        },
        headers: {},
        delay_ms: 0,
      },
    ]);
  });

  it('is told to nobody when nobody asked', () => {
    expect(outboxRowsOf(rows, [ended], state({ callbackUrl: null }), SILENT)).toEqual([]);
  });
});

describe('ids of messages', () => {
  it('are different for everything one append tells', () => {
    const rows = [row('command.issued', '3'), row('command.requeued', '4'), row('playbook.failed', '5')];
    const all = { announceCommands: true, mirrorEvents: true, serverUrl: '' };
    const told = outboxRowsOf(rows, [issued, requeued, ended], state({ callbackUrl: 'https://example.com' }), all);
    expect(new Set(told.map((item) => item.msg_id)).size).toBe(6);
  });
});
