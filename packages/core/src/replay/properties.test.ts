// What holds for every log: where it is cut, how it is stored in between and in which order it comes do not matter.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Id, parseId } from '../ids/index.js';
import type { ReplayEvent } from './event.js';
import { ExactFloat, type ExactJson } from './exact-json.js';
import { foldReplayEvent, foldReplayLog, inReplayOrder, resumeReplay, startReplay, takeReplayState } from './fold.js';
import { isIntact, type ReplaySubject, readReplayState, replayBody } from './state.js';

const someId = fc.constantFrom('a', 'b', '9', '10', '', 'é', '😀', '\uffff', '__proto__');
const orNothing = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 3 });

const someJson: fc.Arbitrary<ExactJson> = fc.letrec<{ json: ExactJson }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<ExactJson>(null, true, 0, -0, 1, new ExactFloat(1), 0.5, 1e-7, 2n ** 63n - 1n, 2n ** 64n, '', 'x'),
    fc.string({ unit: 'binary', maxLength: 5 }),
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(someId, fc.string({ maxLength: 3 })), tie('json'), { maxKeys: 4 }),
  ),
})).json;

const TYPES = [
  'playbook_started',
  'step.enter',
  'step.exit',
  'stage.opened',
  'stage.closed',
  'frame.dispatched',
  'frame.started',
  'frame.abandoned',
  'frame.committed',
  'frame.failed',
  'command.issued',
  'command.claimed',
  'command.requeued',
  'command.completed',
  'command.failed',
  'loop.shard.done',
  'loop.done',
  'order.created',
  'order.removed',
  'playbook.completed',
  'playbook_failed',
];

const META_IDS = [
  'stage_id',
  'frame_id',
  'command_id',
  'loop_id',
  'loop_event_id',
  'parent_stage_id',
  'parent_frame_id',
  'parent_command_id',
  'worker_id',
  'kind',
  'step_name',
  'object_type',
  'object_id',
];
const META_COUNTS = [
  'frame_count',
  'row_count',
  'events_emitted',
  'failed_count',
  'attempt',
  'collection_size',
  'total',
];

const someMeta = fc.oneof(
  { weight: 1, arbitrary: someJson },
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        fc.dictionary(fc.constantFrom(...META_IDS), fc.oneof(someId, someJson), { maxKeys: 5 }),
        fc.dictionary(fc.constantFrom(...META_COUNTS), fc.oneof(fc.integer({ min: -2, max: 9 }), someJson), {
          maxKeys: 3,
        }),
        fc.option(
          fc.dictionary(
            fc.constantFrom('type', 'id', 'object_type', 'object_id', 'state', 'patch', 'attributes', 'version'),
            someJson,
            { maxKeys: 5 },
          ),
          { nil: undefined },
        ),
      )
      .map(([ids, counts, object]) => ({
        ...ids,
        ...counts,
        ...(object === undefined ? {} : { business_object: object }),
      })),
  },
);

const someEvent: fc.Arbitrary<ReplayEvent> = fc.record({
  event_id: fc.oneof(fc.nat({ max: 20 }), fc.bigInt({ min: 2n ** 60n, max: 2n ** 60n + 9n })).map(id),
  event_type: fc.constantFrom(...TYPES),
  node_name: orNothing(fc.constantFrom('start', 'end')),
  status: orNothing(fc.constantFrom('', 'RUNNING', 'DELETED', 'success')),
  stage_id: orNothing(someId),
  frame_id: orNothing(someId),
  command_id: orNothing(someId),
  worker_id: orNothing(someId),
  aggregate_type: orNothing(fc.constantFrom('stage', 'frame', 'business_object')),
  aggregate_id: orNothing(fc.constantFrom('stage/x', 'frame/y', 'business_object/order/1', 'order//2', '/')),
  meta: someMeta,
  result: fc.oneof(
    fc.constant(null),
    someJson.map((reference) => ({ status: 'ok', reference })),
  ),
});

const someLog = fc.array(someEvent, { maxLength: 25 });

const SUBJECT: ReplaySubject = {
  tenant_id: 'default',
  organization_id: 'default',
  execution_id: id(999),
  projection: 'all',
};

function id(value: number | bigint): Id {
  const parsed = parseId(value);
  if (parsed === undefined) throw new Error(`not an id: ${value}`);
  return parsed;
}

const bodyOf = (events: readonly ReplayEvent[]) =>
  replayBody(takeReplayState(foldReplayLog(startReplay(), events), SUBJECT));

it('a state that is taken on the way, and gone on from, ends as the whole log does', () => {
  fc.assert(
    fc.property(someLog, fc.nat(), (log, at) => {
      const sorted = inReplayOrder(log);
      const cut = at % (sorted.length + 1);
      const base = takeReplayState(foldReplayLog(startReplay(), sorted.slice(0, cut)), SUBJECT);
      const tail = foldReplayLog(resumeReplay(base), sorted.slice(cut));
      expect(replayBody(takeReplayState(tail, SUBJECT))).toBe(bodyOf(log));
    }),
  );
});

it('a state that is stored as text, and gone on from, ends as the whole log does', () => {
  fc.assert(
    fc.property(someLog, fc.nat(), (log, at) => {
      const sorted = inReplayOrder(log);
      const cut = at % (sorted.length + 1);
      const stored = readReplayState(bodyOf(sorted.slice(0, cut)));
      expect(isIntact(stored)).toBe(true);
      const tail = foldReplayLog(resumeReplay(stored), sorted.slice(cut));
      expect(replayBody(takeReplayState(tail, SUBJECT))).toBe(bodyOf(log));
    }),
  );
});

it('events that come one by one give the state of the whole log after each of them', () => {
  fc.assert(
    fc.property(someLog, (log) => {
      const sorted = inReplayOrder(log);
      const fold = startReplay();
      for (const [index, event] of sorted.entries()) {
        foldReplayEvent(fold, event);
        expect(replayBody(takeReplayState(fold, SUBJECT))).toBe(bodyOf(sorted.slice(0, index + 1)));
      }
    }),
    { numRuns: 30 },
  );
});

it('a state that was taken does not change when the fold goes on', () => {
  fc.assert(
    fc.property(someLog, someLog, (before, after) => {
      const fold = foldReplayLog(startReplay(), before);
      const taken = takeReplayState(fold, SUBJECT);
      const resumed = resumeReplay(taken);
      const body = replayBody(taken);
      foldReplayLog(fold, after);
      foldReplayLog(resumed, after);
      expect(replayBody(taken)).toBe(body);
      expect(isIntact(taken)).toBe(true);
    }),
  );
});

it('the order of the input does not matter, except among events with the same id', () => {
  const shuffled = someLog.chain((log) =>
    fc.tuple(
      fc.constant(log.filter((event, index) => log.findIndex((other) => other.event_id === event.event_id) === index)),
      fc.array(fc.nat(), { minLength: log.length, maxLength: log.length }),
    ),
  );
  fc.assert(
    fc.property(shuffled, ([log, ranks]) => {
      const mixed = log
        .map((event, index) => ({ event, rank: ranks[index] ?? 0 }))
        .sort((a, b) => a.rank - b.rank)
        .map(({ event }) => event);
      expect(bodyOf(mixed)).toBe(bodyOf(log));
    }),
  );
});

it('a log with an event twice counts it twice', () => {
  fc.assert(
    fc.property(fc.array(someEvent, { minLength: 1, maxLength: 10 }), fc.nat(), (log, at) => {
      const sorted = inReplayOrder(log);
      const index = at % sorted.length;
      const doubled = sorted.toSpliced(index, 0, ...sorted.slice(index, index + 1));
      const fold = startReplay();
      for (const event of doubled) foldReplayEvent(fold, event);
      expect(fold.event_count).toBe(log.length + 1);
      expect(bodyOf(doubled)).toBe(replayBody(takeReplayState(fold, SUBJECT)));
    }),
  );
});

it('an event about a loop changes the loop and nothing else', () => {
  fc.assert(
    fc.property(someLog, (log) => {
      const loopEvent: ReplayEvent = { event_id: id(2n ** 61n), event_type: 'loop.done', meta: { loop_id: 'a' } };
      const before = takeReplayState(foldReplayLog(startReplay(), log), SUBJECT).projection_checksums;
      const after = takeReplayState(foldReplayLog(startReplay(), [...log, loopEvent]), SUBJECT).projection_checksums;
      expect({ ...after, loop: before.loop }).toEqual(before);
      expect(after.loop).not.toEqual(before.loop);
    }),
  );
});

it('the projection that was asked for changes the checksum, and no checksum of a projection', () => {
  fc.assert(
    fc.property(someLog, (log) => {
      const fold = foldReplayLog(startReplay(), log);
      const all = takeReplayState(fold, SUBJECT);
      const frames = takeReplayState(fold, { ...SUBJECT, projection: 'frame' });
      expect(frames.projection_checksums).toEqual(all.projection_checksums);
      expect(frames.checksum).not.toEqual(all.checksum);
    }),
  );
});
