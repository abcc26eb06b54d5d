// States as other implementations write them: bodies and checksums, byte for byte.
import { describe, expect, it } from 'vitest';
import type { Id } from '../ids/index.js';
import { ReplayFormatError } from './codec.js';
import type { ReplayEvent } from './event.js';
import type { ExactObject } from './exact-json.js';
import { foldExportedLog, readExportedLog } from './exported-log.js';
import { foldReplayEvent, resumeReplay, startReplay, takeReplayState } from './fold.js';
import { isIntact, readReplayState, replayBody } from './state.js';

const fold = (log: object | string) =>
  foldExportedLog(readExportedLog(typeof log === 'string' ? log : JSON.stringify(log)));

/** Of an execution without events. */
const EMPTY_STATE = fold({ execution_id: 1, events: [] });
const EMPTY = replayBody(EMPTY_STATE);
const EMPTY_MAP = '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a';

describe('checksums', () => {
  it('of an execution without events', () => {
    const { checksum, projection_checksums } = fold({ execution_id: 1, events: [] });
    expect(checksum).toEqual({
      type: 'sha256',
      value: 'a3f25246832a81e6682a7f29cb4c0650b4ce0def59a264854a63da152d36fdcf',
    });
    expect(projection_checksums.execution.value).toBe(
      'cffd8af539585ad49715f8a9b78dfbf864915233ef31dc9792fb56efc682f297',
    );
    for (const map of ['business_object', 'command', 'frame', 'loop', 'stage'] as const) {
      expect(projection_checksums[map].value).toBe(EMPTY_MAP);
    }
  });

  it('of a short run', () => {
    const { checksum, projection_checksums } = fold({
      execution_id: 42,
      events: [
        { event_id: 1, event_type: 'step.enter', node_name: 'start', status: 'ENTERED' },
        { event_id: 2, event_type: 'playbook.completed', node_name: 'playbook', status: 'COMPLETED' },
      ],
    });
    expect(projection_checksums.execution.value).toBe(
      'c24659a819ee563432384f6aa0686479474aedd08694dfad36a8d475924d1953',
    );
    expect(checksum.value).toBe('e1d7ada4bd057d51d235e1a76abda4342a379eca8178b24cb9560841260b0908');
  });

  it('find a change, wherever it was made', () => {
    const body = replayBody(fold({ execution_id: 42, events: [{ event_id: 7, event_type: 'x', stage_id: 's' }] }));
    expect(isIntact(readReplayState(body))).toBe(true);
    expect(isIntact(readReplayState(body.replace('"last_event_id":7', '"last_event_id":8')))).toBe(false);
    expect(isIntact(readReplayState(body.replace('"frame_count":0', '"frame_count":1')))).toBe(false);
    expect(isIntact(readReplayState(body.replace(EMPTY_MAP, '0'.repeat(64))))).toBe(false);
  });
});

describe('the body', () => {
  it('shows ids as bare integers and leaves out what has no value', () => {
    const state = fold({
      execution_id: '320816801799737344',
      projection: 'command',
      events: [{ event_id: '320816801799737345', event_type: 'command.issued', status: 'PENDING', command_id: 9001 }],
    });
    expect(replayBody(state)).toMatch(
      /^\{"tenant_id":"default","organization_id":"default","execution_id":320816801799737344,"projection":"command","event_count":1,"last_event_id":320816801799737345,"last_event_type":"command\.issued","execution":\{"status":"UNKNOWN","payload_refs":\[\]\},"stages":\{\},"frames":\{\},"commands":\{"9001":\{"command_id":"9001","status":"PENDING","issued_event_id":320816801799737345,"last_event_id":320816801799737345\}\},"business_objects":\{\},"loops":\{\},"checksum":\{"type":"sha256","value":"[0-9a-f]{64}"\},"projection_checksums":\{"business_object":/,
    );
  });

  it('keeps numbers as they were written', () => {
    const attributes = '{"a":1e16,"b":1e-7,"big":18446744073709551615,"c":0.00001,"n":null,"z":1.0,"é":"😀\u007f/"}';
    const state = fold(
      `{"execution_id":1,"events":[{"event_id":1,"event_type":"x","meta":{"business_object":{"type":"t","id":1,"state":${attributes}}}}]}`,
    );
    expect(replayBody(state)).toContain(
      '"attributes":{"a":1e+16,"b":1e-7,"big":18446744073709551615,"c":0.00001,"n":null,"z":1.0,"é":"😀\u007f/"}',
    );
  });

  it('orders maps by the bytes of their keys', () => {
    const events = ['9', '10', '😀', '\uffff'].map((stage_id, index) => ({ event_id: index, stage_id }));
    expect(
      [...replayBody(fold({ execution_id: 1, events })).matchAll(/\{"stage_id":"([^"]+)"/g)].map(([, key]) => key),
    ).toEqual(['10', '9', '\uffff', '😀']);
  });

  it('is read back to the same body', () => {
    const body = replayBody(fold({ execution_id: 1, events: [{ event_id: 1, meta: { loop_id: 'L', total: 3 } }] }));
    expect(replayBody(readReplayState(body))).toBe(body);
  });

  it.each([
    ['a list', '[]', 'state must be an object'],
    ['nothing', '{}', 'state.tenant_id must be present'],
    ['a negative count', EMPTY.replace('"event_count":0', '"event_count":-1'), 'state.event_count must be a count'],
    [
      'an unknown projection',
      EMPTY.replace('"projection":"all"', '"projection":"every"'),
      /state.projection: unknown projection "every"; expected one of: execution, /,
    ],
    ['half a stage', EMPTY.replace('"stages":{}', '"stages":{"s":{}}'), 'state.stages.s.stage_id must be present'],
    [
      'a reference without an event',
      EMPTY.replace('"payload_refs":[]', '"payload_refs":[{"event_id":"x"}]'),
      /^state.execution.payload_refs\[0\].event_id must be an id/,
    ],
  ])('is not %s', (_, body, message) => {
    expect(() => readReplayState(body)).toThrow(message);
    expect(() => readReplayState(body)).toThrow(ReplayFormatError);
  });
});

describe('a base with a tail', () => {
  const events = [{ event_id: 1, event_type: 'step.enter', node_name: 'a' }];
  const tail = [{ event_id: 2, event_type: 'playbook.completed' }];

  it('is the whole log', () => {
    expect(replayBody(fold({ execution_id: 1, events, tail }))).toBe(
      replayBody(fold({ execution_id: 1, events: [...events, ...tail] })),
    );
  });

  it('names the stored state it came from; the projections do not depend on it', () => {
    const seed = { aggregate_id: 'execution/1/all', aggregate_type: 'replay_state', version: 1, meta: { z: 1, a: 2 } };
    const seeded = fold({ execution_id: 1, events, tail, seed, digest: 'd' });
    const whole = fold({ execution_id: 1, events: [...events, ...tail] });
    expect(seeded).toMatchObject({
      upcaster_registry_digest: 'd',
      replay_snapshot: { ...seed, version: '1', checksum: fold({ execution_id: 1, events }).checksum },
      projection_checksums: whole.projection_checksums,
    });
    expect(seeded.checksum).not.toEqual(whole.checksum);
  });
});

describe('a state that was taken', () => {
  const patched = (id: string, patch: ExactObject): ReplayEvent => ({
    event_id: id as Id,
    event_type: 'order.updated',
    meta: { object_type: 'order', object_id: 'o', business_object: { patch } },
  });

  it('does not see what a later event patches', () => {
    const running = startReplay();
    foldReplayEvent(running, patched('1', { a: 1 }));
    const taken = takeReplayState(running, EMPTY_STATE);
    foldReplayEvent(running, patched('2', { a: 2 }));
    expect(taken.business_objects.get('order/o')?.attributes).toEqual({ a: 1 });
    foldReplayEvent(resumeReplay(taken), patched('2', { a: 3 }));
    expect(taken.business_objects.get('order/o')?.attributes).toEqual({ a: 1 });
  });

  it('keeps its origin when the fold goes on from it', () => {
    const seed = { aggregate_id: 'a', aggregate_type: 't', version: 1, meta: null };
    const seeded = fold({ execution_id: 1, events: [{ event_id: 1 }], seed, digest: 'd' });
    expect(takeReplayState(resumeReplay(seeded), seeded)).toEqual(seeded);
  });
});

describe('an exported log', () => {
  it.each([
    ['[]', 'an exported log must be an object'],
    ['{"events":[]}', /^execution_id must be an id/],
    ['{"execution_id":1}', 'events must be a list of events'],
    ['{"execution_id":1,"events":[5]}', 'events[0] must be an object'],
    ['{"execution_id":1,"events":[{"event_id":1},{"event_type":"x"}]}', /^events\[1\].event_id must be an id/],
    ['{"execution_id":1,"events":[{"event_id":1,"status":5}]}', 'events[0].status must be text'],
    ['{"execution_id":1,"events":[{"event_id":1,"stage_id":1.5}]}', 'events[0].stage_id must be text or an integer'],
    ['{"execution_id":1,"events":[],"tail":{}}', 'tail must be a list of events'],
    ['{"execution_id":1,"events":[],"seed":{"aggregate_id":"a"}}', 'seed.aggregate_type must be text'],
    ['{"execution_id":1,"events":[],"projection":"every"}', /^projection: unknown projection "every"; expected one of/],
    ['{"execution_id":1,"events":[],"digest":7}', 'digest must be text'],
  ])('%s is refused', (line, message) => {
    expect(() => readExportedLog(line)).toThrow(message);
    expect(() => readExportedLog(line)).toThrow(ReplayFormatError);
  });

  it('that is not JSON is refused with the place', () => {
    expect(() => readExportedLog('{"execution_id":1,]')).toThrow(/line 1 column 19/);
  });
});
