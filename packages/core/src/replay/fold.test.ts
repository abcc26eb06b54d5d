// Given these events, then this state: the rules of each projection, one at a time.
import { describe, expect, it } from 'vitest';
import { type Id, parseId } from '../ids/index.js';
import type { ReplayEvent } from './event.js';
import { ExactFloat, type ExactObject } from './exact-json.js';
import { foldReplayLog, startReplay } from './fold.js';

type Given = Partial<Omit<ReplayEvent, 'event_id'>> & { event_id?: number };

function id(value: number): Id {
  const parsed = parseId(value);
  if (parsed === undefined) throw new Error(`not an id: ${value}`);
  return parsed;
}

/** Events are numbered from 1 unless they say otherwise. */
function given(...events: Given[]) {
  return foldReplayLog(
    startReplay(),
    events.map((event, index) => ({ event_type: 'note', ...event, event_id: id(event.event_id ?? index + 1) })),
  );
}

describe('the log as a whole', () => {
  it('is unknown while nothing happened', () => {
    expect(given()).toMatchObject({ event_count: 0, last_event_id: undefined, execution: { status: 'UNKNOWN' } });
  });

  it('is folded by event id, whatever the order it comes in', () => {
    const fold = given(
      { event_id: 10, event_type: 'playbook.completed' },
      { event_id: 9, event_type: 'step.enter', node_name: 'a' },
    );
    expect(fold).toMatchObject({ last_event_id: '10', execution: { status: 'COMPLETED', last_node_name: 'a' } });
  });

  it('counts events that share an id, in the order they come in', () => {
    const fold = given({ event_id: 7, event_type: 'first' }, { event_id: 7, event_type: 'second' });
    expect(fold).toMatchObject({ event_count: 2, last_event_id: '7', last_event_type: 'second' });
  });
});

describe('the execution', () => {
  it.each([
    ['playbook.completed', 'COMPLETED'],
    ['playbook_completed', 'COMPLETED'],
    ['playbook.failed', 'FAILED'],
    ['playbook_failed', 'FAILED'],
    ['playbook.cancelled', 'CANCELLED'],
    ['playbook_cancelled', 'CANCELLED'],
    ['step.enter', 'RUNNING'],
    ['step_enter', 'RUNNING'],
    ['step_started', 'RUNNING'],
    ['playbook_started', 'UNKNOWN'],
    ['workflow.completed', 'UNKNOWN'],
    ['execution.failed', 'UNKNOWN'],
  ])('after %s is %s, whatever the status of the event says', (event_type, expected) => {
    expect(given({ event_type, status: 'OTHER' }).execution.status).toBe(expected);
  });

  it('is as the last terminal event says', () => {
    expect(given({ event_type: 'playbook.completed' }, { event_type: 'playbook.failed' }).execution.status).toBe(
      'FAILED',
    );
  });

  it('is not reopened by a late step, but was there last', () => {
    const { execution } = given({ event_type: 'playbook.completed' }, { event_type: 'step.enter', node_name: 'late' });
    expect(execution).toMatchObject({ status: 'COMPLETED', last_node_name: 'late' });
  });

  it.each(['step.exit', 'step_completed', 'command.completed'])('was last where %s says', (event_type) => {
    expect(given({ event_type, node_name: 'here' }).execution.last_node_name).toBe('here');
  });

  it('keeps the last place when an event names none', () => {
    const { execution } = given(
      { event_type: 'step.enter', node_name: 'a' },
      { event_type: 'step.exit', node_name: null },
    );
    expect(execution.last_node_name).toBe('a');
  });
});

describe('identities', () => {
  it.each<[string, Given, string | undefined]>([
    ['the column', { stage_id: 'c', aggregate_type: 'stage', aggregate_id: 'stage/a', meta: { stage_id: 'm' } }, 'c'],
    ['the aggregate', { aggregate_type: 'stage', aggregate_id: 'stage/a', meta: { stage_id: 'm' } }, 'a'],
    ['the aggregate, one prefix off', { aggregate_type: 'stage', aggregate_id: 'stage/x/y' }, 'x/y'],
    ['the meta', { aggregate_type: 'other', aggregate_id: 'stage/a', meta: { stage_id: 'm' } }, 'm'],
    ['an integer of the meta', { meta: { stage_id: 320816801799737344n } }, '320816801799737344'],
    ['a float of the meta', { meta: { stage_id: new ExactFloat(1) } }, '1.0'],
    ['a flag of the meta', { meta: { stage_id: false } }, 'false'],
    ['an object of the meta', { meta: { stage_id: { b: [null], a: 1 } } }, '{"a":1,"b":[null]}'],
    ['an empty text', { stage_id: '' }, ''],
    ['null, which is nothing', { stage_id: null, meta: { stage_id: null } }, undefined],
    ['a meta that is no object', { meta: ['stage_id'] }, undefined],
  ])('a stage is known by %s', (_, event, expected) => {
    expect([...given(event).stages.keys()]).toEqual(expected === undefined ? [] : [expected]);
  });

  it.each(['loop_id', 'loop_event_id', '__loop_epoch_id'])('a loop is known by meta.%s', (key) => {
    expect([...given({ meta: { [key]: 'L' } }).loops.keys()]).toEqual(['L']);
  });

  it('a null is passed over for the next place', () => {
    expect([...given({ meta: { loop_id: null, loop_event_id: 'second' } }).loops.keys()]).toEqual(['second']);
  });
});

describe('a stage', () => {
  const stage = (...events: Given[]) => given(...events.map((event) => ({ stage_id: 's', ...event }))).stages.get('s');

  it('appears with the first event that carries its id', () => {
    expect(stage({ node_name: 'load', meta: { kind: 'fanout', step_name: 'other', parent_stage_id: 'p' } })).toEqual({
      stage_id: 's',
      status: 'UNKNOWN',
      kind: 'fanout',
      step_name: 'load',
      parent_stage_id: 'p',
      frame_count: 0,
      row_count: 0,
      events_emitted: 0,
      failed_count: 0,
      last_event_id: '1',
    });
  });

  it('keeps its kind and its step', () => {
    expect(stage({ meta: { kind: 'a' } }, { node_name: 'late', meta: { kind: 'b' } })).toMatchObject({
      kind: 'a',
      step_name: undefined,
    });
  });

  it('opens, whatever the status of the event says', () => {
    expect(stage({ event_type: 'stage.opened', status: 'X' })).toMatchObject({ status: 'OPEN', opened_event_id: '1' });
  });

  it('closes with the counts that the event knows', () => {
    const meta = { frame_count: 2, row_count: '5', events_emitted: new ExactFloat(3), failed_count: 0 };
    expect(stage({ event_type: 'stage.closed', status: '', meta })).toMatchObject({
      status: 'CLOSED',
      closed_event_id: '1',
      frame_count: 2,
      row_count: 0,
      events_emitted: 0,
      failed_count: 0,
    });
  });

  it('closes with the status of the event, where it has one', () => {
    expect(stage({ event_type: 'stage.closed', status: 'FAILED' })?.status).toBe('FAILED');
  });

  it('keeps its counts when an event brings none that are integers', () => {
    const closed = (row_count: number | string): Given => ({ event_type: 'stage.closed', meta: { row_count } });
    expect(stage(closed(7), closed('8'), closed(0.5), closed(-0))?.row_count).toBe(7);
  });

  it('has the parent and the loop of the last event that names one', () => {
    const named = (id: string): Given => ({ meta: { parent_stage_id: `p${id}`, loop_id: `l${id}` } });
    expect(stage(named('1'), named('2'), {})).toMatchObject({ parent_stage_id: 'p2', loop_event_id: 'l2' });
  });

  it('takes the status of any other event that has one', () => {
    expect(stage({ event_type: 'stage.closed' }, { event_type: 'command.completed', status: 'success' })?.status).toBe(
      'success',
    );
    expect(stage({ status: 'BUSY' }, { status: '' }, { status: null })?.status).toBe('BUSY');
  });
});

describe('a frame', () => {
  const frame = (...events: Given[]) => given(...events.map((event) => ({ frame_id: 'f', ...event }))).frames.get('f');

  it('counts the highest attempt, at least one', () => {
    const dispatched = (attempt: number | string): Given => ({ event_type: 'frame.dispatched', meta: { attempt } });
    expect(frame(dispatched(3), dispatched(2))).toMatchObject({
      status: 'CLAIMED',
      attempts: 3,
      claimed_event_id: '2',
    });
    expect(frame(dispatched('3'))?.attempts).toBe(1);
    expect(frame(dispatched(0))?.attempts).toBe(0);
  });

  it('commits with its counts and its output', () => {
    const reference = { ref: 'gs://b/k', sha256: 'h' };
    expect(
      frame({
        event_type: 'frame.committed',
        meta: { row_count: 42, events_emitted: 3 },
        result: { status: 'ok', reference },
      }),
    ).toMatchObject({
      status: 'COMPLETED',
      row_count: 42,
      events_emitted: 3,
      terminal_event_id: '1',
      output_ref: reference,
      output_ref_summary: { ref: 'gs://b/k', sha256: 'h' },
    });
  });

  it('fails without touching its row count, and an end without output takes the output away', () => {
    const failed = frame(
      { event_type: 'frame.committed', meta: { row_count: 42 }, result: { reference: 'r' } },
      { event_type: 'frame.failed', meta: { row_count: 1 } },
    );
    expect(failed).toMatchObject({ status: 'FAILED', row_count: 42, output_ref: undefined });
    expect(failed?.output_ref_summary).toEqual({});
  });

  it.each([
    ['frame.started', 'RUNNING'],
    ['frame.abandoned', 'ABANDONED'],
  ])('after %s is %s', (event_type, expected) => {
    expect(frame({ event_type })?.status).toBe(expected);
  });

  it('knows its stage, its command and its parent from any event', () => {
    expect(frame({ stage_id: 's', command_id: 'c', meta: { parent_frame_id: 9 } }, {})).toMatchObject({
      stage_id: 's',
      command_id: 'c',
      parent_frame_id: '9',
      last_event_id: '2',
    });
  });
});

describe('a command', () => {
  const command = (...events: Given[]) =>
    given(...events.map((event) => ({ command_id: 'c', ...event }))).commands.get('c');

  it.each([
    ['command.issued', 'PENDING', 'issued_event_id'],
    ['command.claimed', 'CLAIMED', 'claimed_event_id'],
    ['command.started', 'RUNNING', 'started_event_id'],
    ['command.completed', 'COMPLETED', 'terminal_event_id'],
    ['command.failed', 'FAILED', 'terminal_event_id'],
    ['command.cancelled', 'CANCELLED', 'terminal_event_id'],
  ])('after %s is %s, or what the producer says', (event_type, expected, field) => {
    expect(command({ event_type })).toMatchObject({ status: expected, [field]: '1' });
    expect(command({ event_type, status: 'own word' })).toMatchObject({ status: 'own word', [field]: '1' });
  });

  it('takes the status of its own events only', () => {
    expect(
      command({ event_type: 'command.requeued', status: 'PENDING' }, { event_type: 'call.done', status: 'DONE' }),
    ).toMatchObject({
      status: 'PENDING',
      last_event_id: '2',
    });
  });

  it('knows its worker from the column, else from the meta', () => {
    expect(command({ worker_id: 'w', meta: { worker_id: 'm', worker_locator: 'host:1' } })).toMatchObject({
      worker_id: 'w',
      worker_locator: 'host:1',
    });
    expect(command({ meta: { worker_id: 'm' } }, { worker_id: null })?.worker_id).toBe('m');
  });

  it('belongs to the worker that was named last', () => {
    expect(command({ worker_id: 'first' }, { worker_id: 'second' })?.worker_id).toBe('second');
  });
});

describe('a loop', () => {
  const loop = (...events: Given[]) =>
    given(...events.map((event) => ({ ...event, meta: { loop_id: 'L', ...(event.meta as object) } }))).loops.get('L');

  it('counts what is done and what failed', () => {
    const types = ['command.completed', 'loop.shard.done', 'command.failed', 'loop.shard.failed', 'loop.item'];
    expect(loop(...types.map((event_type) => ({ event_type })))).toMatchObject({
      done: 2,
      failed: 2,
      completed: false,
    });
  });

  it.each(['loop.done', 'loop.fanin.completed'])('is completed by %s', (event_type) => {
    expect(loop({ event_type })?.completed).toBe(true);
  });

  it('knows its size and its step from its first event', () => {
    expect(loop({ node_name: 'each', meta: { collection_size: 0, total: 9 } }, { meta: { total: 5 } })).toMatchObject({
      step_name: 'each',
      total: 0,
    });
    expect(loop({ meta: { total: 9 } })?.total).toBe(9);
    expect(loop({}, { meta: { total: 9 } })?.total).toBeUndefined();
  });
});

describe('a business object', () => {
  const keys = (event: Given) => [...given(event).business_objects.keys()];
  const order = (...events: Given[]) =>
    given(
      ...events.map((event) => ({
        ...event,
        meta: { object_type: 'order', object_id: 'o', ...(event.meta as object) },
      })),
    ).business_objects.get('order/o');

  it.each<[string, Given, string[]]>([
    [
      'its description',
      { meta: { business_object: { object_type: 'order', object_id: 1, type: 'x', id: 'y' } } },
      ['order/1'],
    ],
    ['its short description', { meta: { business_object: { type: 'order', id: 1 } } }, ['order/1']],
    ['the long names of the meta', { meta: { business_object_type: 'order', business_object_id: 1 } }, ['order/1']],
    ['the short names of the meta', { meta: { object_type: 'order', object_id: 1 } }, ['order/1']],
    [
      'a null, passed over',
      { meta: { business_object: { object_id: null, id: 7 }, object_type: 'order' } },
      ['order/7'],
    ],
    ['half an identity, which is none', { meta: { object_type: 'order' } }, []],
    ['an aggregate', { aggregate_type: 'business_object', aggregate_id: 'business_object/order/a//b' }, ['order/a/b']],
    [
      'an aggregate without a path',
      { aggregate_type: 'business_object', aggregate_id: 'o-1' },
      ['business_object/o-1'],
    ],
    [
      'an aggregate that fills in what is missing',
      { aggregate_type: 'business_object', aggregate_id: 'order/1', meta: { object_id: 'own' } },
      ['order/own'],
    ],
    ['an aggregate of another type', { aggregate_type: 'order', aggregate_id: 'order/1' }, []],
  ])('is known by %s', (_, event, expected) => {
    expect(keys(event)).toEqual(expected);
  });

  it.each([
    ['order.created', 'ACTIVE'],
    ['Order.Updated', 'ACTIVE'],
    ['order.upserted', 'ACTIVE'],
    ['order.deleted', 'DELETED'],
    ['order.removed', 'DELETED'],
    ['order.seen', 'UNKNOWN'],
  ])('after %s is %s, or what the event says', (event_type, expected) => {
    expect(order({ event_type })?.status).toBe(expected);
    expect(order({ event_type, status: 'OWN' })?.status).toBe('OWN');
  });

  it('remembers that it was deleted', () => {
    expect(
      order({ event_type: 'order.deleted' }, { event_type: 'order.seen' }, { event_type: 'order.created' }),
    ).toMatchObject({ status: 'ACTIVE', deleted_event_id: '1', first_event_id: '1', last_event_id: '3' });
  });

  it('has the version it was given, else the number of its events', () => {
    expect(order({ meta: { business_object: { version: 7 }, business_object_version: 9 } })?.version).toBe(7);
    expect(order({ meta: { business_object: { version: '7' }, business_object_version: 9 } })?.version).toBe(9);
    expect(order({ meta: { business_object_version: 9 } }, {})?.version).toBe(2);
  });

  it('has the attributes of its last state, patched key by key', () => {
    const say = (business_object: ExactObject): Given => ({ meta: { business_object } });
    expect(
      order(
        say({ state: { old: 1 } }),
        say({ state: { a: 1, b: { x: 1 } }, patch: { b: { y: 2 } } }),
        say({ attributes: { c: null } }),
        say({ patch: null, attributes: { ignored: true } }),
      )?.attributes,
    ).toEqual({ a: 1, b: { y: 2 }, c: null });
  });

  it('does not change the event that brought its state', () => {
    const state = { a: 1 };
    order({ meta: { business_object: { state } } }, { meta: { business_object: { patch: { b: 2 } } } });
    expect(state).toEqual({ a: 1 });
  });

  it('keeps the payload references of its events', () => {
    const reference = { ref: 'gs://b/1' };
    const entry = { event_id: '1', reference, summary: { ref: 'gs://b/1' } };
    expect(order({ result: { status: 'ok', reference } }, {})).toMatchObject({
      payload_refs: [entry],
      last_payload_ref: entry,
    });
  });
});

describe('payload references', () => {
  const summary = (reference: NonNullable<ReplayEvent['result']>) =>
    given({ result: { status: 'ok', reference } }).execution.payload_refs[0]?.summary;

  it('are listed in the order of their events', () => {
    const { payload_refs } = given(
      { result: { reference: 'one' } },
      { result: { reference: null } },
      { result: { status: 'ok' } },
      { result: 'no object' },
      { result: { reference: 2 } },
    ).execution;
    expect(payload_refs.map(({ event_id, reference }) => [event_id, reference])).toEqual([
      ['1', 'one'],
      ['5', 2],
    ]);
  });

  it('are summed up from the first place that has the right type', () => {
    expect(
      summary({
        sha256: 5,
        digest: 'last',
        schema_digest: '',
        row_count: '3',
        uri: 'u',
        rows_ref: {
          ref: 'rows',
          meta: { schema_digest: 'm', media_type: 'm' },
          ipc: { row_count: 0, media_type: 'i' },
        },
      }),
    ).toEqual({ sha256: 'last', schema_digest: '', row_count: 0, media_type: 'm', ref: 'rows' });
  });

  it('that are no objects have an empty summary', () => {
    expect(summary('gs://b/k')).toEqual({});
  });
});
