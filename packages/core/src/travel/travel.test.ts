import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DomainEvent } from '../engine/events.js';
import { evolve } from '../engine/evolve.js';
import type { EventRow } from '../engine/row.js';
import { initialState } from '../engine/state.js';
import { causeOf } from './cause.js';
import { evolveAndCompare } from './changes.js';
import {
  claim,
  commandOf,
  complete,
  done,
  EXECUTION,
  end,
  enter,
  fail,
  issue,
  logOf,
  requeue,
  second,
  start,
  started,
  write,
} from './log.fixture.js';
import { foldTimeline, startTimeline, timelineOf } from './timeline.js';
import { foldVariables, startVariables, variablesOf } from './variables.js';
import { viewOf } from './view.js';

const timeline = (rows: readonly EventRow[], page = { after: 0, limit: 1_000 }) => {
  const fold = startTimeline(page);
  for (const row of rows) foldTimeline(fold, row);
  return timelineOf(fold);
};

describe('a timeline', () => {
  it('queues a command again that was given back', () => {
    const rows = logOf(
      started,
      enter('a'),
      issue('a'),
      claim('a'),
      start('a'),
      requeue('a'),
      claim('a'),
      start('a'),
      complete('a'),
    );
    const [bar] = timeline(rows).bars;
    expect(bar?.commands[0]?.parts.map(({ part, from, to }) => [part, from, to])).toEqual([
      ['queued', second(2), second(3)],
      ['starting', second(3), second(4)],
      ['running', second(4), second(5)],
      ['queued', second(5), second(6)],
      ['starting', second(6), second(7)],
      ['running', second(7), second(8)],
    ]);
  });

  it('keeps every attempt of a visit in its bar', () => {
    const rows = logOf(started, enter('a'), issue('a'), fail('a'), issue('a', 2, 2), complete('a', 2));
    expect(timeline(rows).bars).toMatchObject([
      {
        state: 'done',
        error: null,
        commands: [
          { state: 'failed', error: 'no', attempt: 1 },
          { state: 'done', attempt: 2 },
        ],
      },
    ]);
  });

  it('ends what is still open when the execution is cancelled', () => {
    const rows = logOf(started, enter('a'), issue('a'), end('CANCELLED'));
    expect(timeline(rows).bars).toMatchObject([{ state: 'cancelled', to: second(3) }]);
  });
});

describe('variables', () => {
  const variables = (rows: readonly EventRow[]) => {
    const fold = startVariables(EXECUTION);
    for (const row of rows) foldVariables(fold, row);
    return Object.fromEntries(
      variablesOf(fold).map(({ name, value, written_by }) => [name, [value, written_by?.stream_version]]),
    );
  };

  it('are those of workload, context, steps and results, each with the version that wrote it last', () => {
    const rows = logOf(
      started,
      enter('a'),
      issue('a'),
      done('a', 7),
      complete('a'),
      write('a', { x: 1, 'ctx.deep.y': 2, 'step.z': 3 }),
      write('a', { x: 4 }),
    );
    expect(variables(rows)).toEqual({
      'workload.n': [1, 1],
      'a.result': [7, 5],
      'ctx.x': [4, 7],
      'ctx.deep': [{ y: 2 }, 6],
      'a.vars.z': [3, 6],
    });
  });
});

describe('the cause', () => {
  it('of what a worker reports is the event that issued its command', () => {
    const [, , issued, claimed] = logOf(started, enter('a'), issue('a'), claim('a'));
    expect(claimed && causeOf({ ...claimed, command_id: commandOf('a', Number(issued?.event_id)) })).toBe(
      issued?.event_id,
    );
  });

  it('of the first event is none', () => {
    const [first] = logOf(started);
    expect(first && causeOf({ ...first, parent_event_id: '5' as EventRow['event_id'] })).toBeNull();
  });
});

// Any order of events, sensible or not: views must hold whatever a log says.
const step = fc.constantFrom('a', 'b');
const number = fc.constantFrom(1, 2);
const anyEvent: fc.Arbitrary<DomainEvent> = fc.oneof(
  fc.tuple(step, fc.integer({ min: 1, max: 3 })).map(([name, run]) => enter(name, run)),
  step.map((name) => enter(name, 1, [1, 2, 3])),
  fc.tuple(step, number).map(([name, n]) => issue(name, n)),
  fc.tuple(step, number, fc.integer({ min: 0, max: 2 })).map(([name, n, index]) => issue(name, n, 1, index)),
  ...[claim, start, requeue, complete, fail].map((make) => fc.tuple(step, number).map(([name, n]) => make(name, n))),
  fc.tuple(step, number, fc.nat()).map(([name, n, data]) => done(name, data, n)),
  fc
    .tuple(step, fc.constantFrom('x', 'ctx.y.z', 'step.v'), fc.nat())
    .map(([name, key, value]) => write(name, { [key]: value })),
  step.map((name): DomainEvent => ({ type: 'step.skipped', step: name, run: 1, reason: 'dead_path' })),
  step.map((name): DomainEvent => ({ type: 'signal.received', name, payload: 1 })),
  step.map((name): DomainEvent => ({ type: 'signal.delivered', name, commandId: commandOf(name) })),
  fc.constant(end('FAILED')),
);
const anyLog = fc.array(anyEvent, { maxLength: 40 }).map((events) => logOf(started, ...events));

describe('whatever a log says', () => {
  it('pages of a timeline are the timeline', () => {
    fc.assert(
      fc.property(anyLog, fc.integer({ min: 1, max: 4 }), (rows, limit) => {
        const whole = timeline(rows);
        const pages = [];
        for (let after: number | null = 0; after !== null; ) {
          const page = timeline(rows, { after, limit });
          pages.push(...page.bars);
          after = page.next;
        }
        expect(pages).toEqual(whole.bars);
      }),
    );
  });

  it('a view that was taken stays what it was', () => {
    fc.assert(
      fc.property(anyLog, (rows) => {
        const state = initialState(EXECUTION);
        for (const row of rows) {
          const before = viewOf(state);
          const copy = structuredClone(before);
          evolve(state, row);
          expect(before).toEqual(copy);
        }
      }),
    );
  });

  it('an event that changes nothing in the view changes nothing', () => {
    fc.assert(
      fc.property(anyLog, (rows) => {
        const state = initialState(EXECUTION);
        for (const row of rows) {
          const before = structuredClone(viewOf(state));
          const { changes } = evolveAndCompare(state, row, 1_000);
          expect(changes.length === 0).toBe(JSON.stringify(viewOf(state)) === JSON.stringify(before));
        }
      }),
    );
  });
});
