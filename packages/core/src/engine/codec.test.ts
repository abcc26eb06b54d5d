// Rows and what they mean: our own events survive the round trip, and rows of other producers are read generously.
import { describe, expect, it } from 'vitest';
import type { Id } from '../ids/index.js';
import { commandEventId, commandIdOf, commandStep, decode } from './decode.js';
import { encode } from './encode.js';
import type { DomainEvent } from './events.js';
import type { EventRow } from './row.js';

const execution = '11' as Id;
const catalog = '22' as Id;
const info = { kind: 'http', retryable: true, code: 'HTTP_503', message: 'busy', http_status: 503 };

function row(fields: Partial<EventRow>): EventRow {
  return {
    execution_id: execution,
    event_id: '33' as Id,
    stream_version: 1,
    catalog_id: catalog,
    parent_event_id: null,
    parent_execution_id: null,
    event_type: 'x',
    node_id: 's',
    node_name: 's',
    node_type: null,
    status: null,
    command_id: null,
    worker_id: null,
    duration: null,
    context: null,
    result: null,
    meta: null,
    error: null,
    created_at: '2027-01-01T00:00:00.000Z',
    ...fields,
  };
}

const events: DomainEvent[] = [
  {
    type: 'playbook_started',
    path: 'p/q',
    catalogId: catalog,
    workload: { a: 1 },
    pool: 'system',
    engineRev: 1,
    parentExecutionId: null,
    parentEventId: null,
    trace: { t: 1 },
    depth: 2,
    caller: { commandId: '10:s:9', returnStep: 'end' },
    rerunOf: '9' as Id,
    callbackUrl: 'https://example.com/ended',
  },
  {
    type: 'stage.marked',
    mark: 'closed',
    step: 's',
    run: 1,
    loopId: 's:1',
    frames: 2,
    rows: 7,
    failed: 1,
  },
  { type: 'frame.marked', mark: 'committed', step: 's', run: 1, loopId: 's:1', frame: 3, rows: 5 },
  { type: 'signal.received', name: 'approve', payload: { by: 'ann' } },
  { type: 'signal.delivered', name: 'approve', commandId: '11:s:33' },
  {
    type: 'execution.forked',
    source: '9' as Id,
    sourceEventId: '10' as Id,
    mode: 'from_step',
    workload: { a: 2 },
  },
  {
    type: 'step.enter',
    step: 's',
    run: 1,
    loop: {
      loopId: 's:1',
      iterator: 'row',
      items: [],
      maxInFlight: 2,
      onError: 'continue',
      cursor: { maxRows: 10, rowConcurrency: 2, process: 'row' },
    },
  },
  { type: 'step.enter', step: 's', run: 2 },
  { type: 'step.skipped', step: 's', run: 0, reason: 'dead_path' },
  { type: 'step.skipped', step: 's', run: 1, reason: 'guard' },
  { type: 'step.failed', step: 's', run: 1, error: 'bad', info },
  {
    type: 'command.issued',
    commandId: '11:s:33',
    step: 's',
    run: 1,
    toolKind: 'http',
    pool: 'shared',
    attempt: 2,
    maxAttempts: 5,
    idempotent: false,
    context: { tool_config: { url: 'u' }, args: { n: 1 }, render_context: {} },
  },
  {
    type: 'command.issued',
    commandId: '11:s:33:i4',
    step: 's',
    run: 1,
    toolKind: 'playbook',
    pool: 'shared',
    attempt: 1,
    maxAttempts: 3,
    idempotent: true,
    context: { tool_config: { path: 'child' }, args: {}, render_context: {} },
    timeoutMs: 1500,
    output: { inline_max_bytes: 10 },
    iteration: { index: 4, total: 9, loopId: 's:1', iterator: 'row' },
    cursor: { phase: 'body', frame: 1, row: 3 },
    park: {
      kind: 'child',
      executionId: '77' as Id,
      path: 'child',
      catalogId: null,
      version: 2,
      payload: { n: 1 },
      wait: true,
      returnStep: null,
      dueAt: '2027-01-01T00:00:00.000Z',
    },
  },
  { type: 'command.claimed', commandId: '11:s:33', step: 's', workerId: 'w', token: 4 },
  { type: 'command.started', commandId: '11:s:33', step: 's' },
  { type: 'command.handed_over', commandId: '11:s:33', step: 's' },
  {
    type: 'command.requeued',
    commandId: '11:s:33',
    step: 's',
    attempt: 2,
    reason: 'lease_expired',
    delayMs: 10,
    fromWorker: 'w',
    resume: { index: 2 },
  },
  {
    type: 'call.done',
    commandId: '11:s:33',
    step: 's',
    status: 'success',
    data: { rows: [null] },
    error: null,
    updates: {},
  },
  { type: 'call.error', commandId: '11:s:33', step: 's', error: 'busy', info, data: null, updates: {} },
  { type: 'command.completed', commandId: '11:s:33', step: 's', status: 'success' },
  { type: 'command.failed', commandId: '11:s:33', step: 's', error: 'busy', info },
  { type: 'command.cancelled', commandId: '11:s:33', step: 's', reason: 'stop' },
  { type: 'ctx.updated', step: 's', values: { 'ctx.a.b': 1 } },
  {
    type: 'next.evaluated',
    step: 's',
    run: 1,
    mode: 'inclusive',
    taken: [0],
    dead: [1],
    tokens: { t: { x: 1 } },
    reset: { s: [] },
    outcome: 'handled_failure',
  },
  { type: 'playbook.ended', status: 'COMPLETED', error: null, failedSteps: [], reason: 'quiescent' },
  { type: 'playbook.ended', status: 'FAILED', error: 'why', failedSteps: ['s'], reason: 'evaluate_error' },
  { type: 'playbook.ended', status: 'CANCELLED', error: 'why', failedSteps: [], reason: 'cancelled' },
];

it.each(events.map((event) => [event.type, event] as const))('reads back what it wrote: %s', (_, event) => {
  const written = row(encode(event, execution, catalog));
  expect(decode(JSON.parse(JSON.stringify(written)) as EventRow)).toEqual(event);
});

it.each(events.map((event) => [event.type, event] as const))('writes a result the database accepts: %s', (_, event) => {
  const { result } = encode(event, execution, catalog);
  if (result === null) return;
  expect(result).toMatchObject({ status: expect.any(String) });
  expect(Object.keys(result).filter((key) => !['status', 'context', 'reference'].includes(key))).toEqual([]);
});

describe('names of the log', () => {
  it.each([
    ['COMPLETED', 'playbook.completed'],
    ['FAILED', 'playbook.failed'],
    ['CANCELLED', 'playbook_cancelled'],
  ] as const)('%s is written as %s', (status, name) => {
    const event: DomainEvent = { type: 'playbook.ended', status, error: null, failedSteps: [], reason: '' };
    expect(encode(event, execution, catalog)).toMatchObject({ event_type: name, status });
  });

  it.each(['playbook_cancelled', 'playbook.cancelled', 'execution.cancelled'])(
    'B19: %s is read as a cancellation',
    (name) => {
      expect(decode(row({ event_type: name }))).toMatchObject({ type: 'playbook.ended', status: 'CANCELLED' });
    },
  );

  it.each(['constructor', '__proto__', 'order.shipped', ''])('%j moves nothing', (name) => {
    expect(decode(row({ event_type: name }))).toBeUndefined();
  });

  it('an event marked as external moves nothing, whatever it is called', () => {
    expect(decode(row({ event_type: 'playbook.completed', meta: { external: true } }))).toBeUndefined();
  });
});

describe('the command id', () => {
  it.each([
    ['the column', { command_id: '1:a:2' }],
    ['meta', { meta: { command_id: '1:a:2' } }],
    ['result.context', { result: { status: 'x', context: { command_id: '1:a:2' } } }],
    ['result.data', { result: { status: 'x', data: { command_id: '1:a:2' } } }],
  ])('is found in %s', (_, fields) => {
    expect(commandIdOf(row(fields))).toBe('1:a:2');
  });

  it.each([
    ['1:a:2', '2'],
    ['1:a:2:i7', '2'],
    ['1:x:y:2', '2'],
    ['nonsense', undefined],
  ])('names its event: %s', (id, event) => {
    expect(commandEventId(id)).toBe(event);
  });

  it('is needed: a command event without one moves nothing', () => {
    expect(decode(row({ event_type: 'command.completed' }))).toBeUndefined();
  });
});

describe('the data of a call', () => {
  const data = (context: EventRow['result']) =>
    decode(row({ event_type: 'call.done', command_id: '1:s:2', result: { status: 'COMPLETED', context } }));

  it.each([
    ['nested', { result: { status: 'success', context: { data: { n: 1 } } } }],
    ['flat', { data: { n: 1 } }],
    ['bare', { result: { n: 1 } }],
  ])('is found %s', (_, context) => {
    expect(data(context)).toMatchObject({ data: { n: 1 } });
  });

  it('brings the error of a tool that does not raise', () => {
    expect(data({ result: { status: 'error', context: { error: 'exit code 1' } } })).toMatchObject({
      status: 'error',
      error: 'exit code 1',
    });
  });
});

it('a failure without details still has a kind, a code and a message', () => {
  expect(decode(row({ event_type: 'command.failed', command_id: '1:s:2', error: 'boom' }))).toMatchObject({
    error: 'boom',
    info: { kind: 'unknown', retryable: false, code: 'UNKNOWN', message: 'boom' },
  });
});

describe('the step in a command id', () => {
  it.each([
    ['11:fetch:33', 'fetch'],
    ['11:fetch:33:i0', 'fetch'],
    ['11:a:b/c:33', 'a:b/c'],
    ['11:12:33:i7', '12'],
  ])('%s', (id, step) => {
    expect(commandStep(id)).toBe(step);
    expect(commandEventId(id)).toBe('33');
  });
});
