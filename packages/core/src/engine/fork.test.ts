// A fork: a new execution that begins with what an old one has already done.
import { describe, expect, it } from 'vitest';
import { forkPrefix } from './fork.js';
import { called, completed } from './simulation/reports.js';
import { given, type Story } from './simulation/story.js';

const chain = `
  - step: start
    tool: { kind: noop }
    set: { ctx.from_start: "{{ output.data }}" }
    next: { arcs: [{ step: middle }] }
  - step: middle
    tool: { kind: noop, message: "{{ workload.n }}" }
    next: { arcs: [{ step: last }] }
  - step: last
    tool: { kind: noop }`;

/** Commands of the fork itself: what the copied log holds has run elsewhere. */
const issued = (story: Story) => {
  const at = story.log.findIndex((row) => row.event_type === 'execution.forked');
  return story.log.slice(at).flatMap((row) => (row.event_type === 'command.issued' ? [row.node_name] : []));
};
const items = (story: Story) => Object.values(story.state.commands).map(({ iteration }) => iteration);

describe('a fork from the failure', () => {
  it('keeps what has succeeded and runs only what failed, and what follows', () => {
    const fork = given(chain).start({ n: 1 }).does('start', 7).fails('middle').fork({ mode: 'from_failure' });
    expect(fork.state.status).toBe('RUNNING');
    expect(issued(fork)).toEqual(['middle']);
    expect(fork.state.ctx.from_start).toBe(7);
    fork.does('middle').does('last');
    expect(fork.state.status).toBe('COMPLETED');
  });

  it('runs again what answered with an error, although its worker called the command completed', () => {
    const story = given(chain).start({ n: 1 }).does('start');
    const { commandId, token } = story.claim('middle');
    const told = { commandId, step: 'middle', workerId: 'w1' };
    story.when({ type: 'event', row: called(told, null, 'error'), token });
    story.when({ type: 'event', row: completed(told), token });
    expect(story.state.status).toBe('FAILED');
    expect(story.fork({ mode: 'from_failure' }).open()).toEqual(['middle']);
  });

  it('is its own execution: other ids, no parent, no old failure', () => {
    const source = given(chain).start({ n: 1 }).does('start').fails('middle');
    const fork = source.fork({ mode: 'from_failure' });
    expect(fork.log.every((row) => row.execution_id === fork.state.executionId)).toBe(true);
    const old = new Set(source.log.map((row) => row.event_id));
    expect(fork.log.filter((row) => old.has(row.event_id))).toEqual([]);
    expect(fork.state).toMatchObject({ failure: null, failedSteps: [], parentExecutionId: null, caller: null });
  });

  it('takes changed inputs', () => {
    const fork = given(chain).start({ n: 1 }).does('start').fails('middle').fork({ mode: 'from_failure' }, { n: 2 });
    expect(fork.last('command.issued').context).toMatchObject({ tool_config: { message: 2 } });
  });

  it('takes up what a cancel has interrupted', () => {
    const fork = given(chain).start({ n: 1 }).does('start').cancel().fork({ mode: 'from_failure' });
    expect(issued(fork)).toEqual(['middle']);
  });

  it('runs only the items of a loop that have not succeeded, each once', () => {
    const story = given(`
  - step: start
    loop: { in: [a, b, c, d], iterator: item, spec: { mode: parallel, max_in_flight: 3 } }
    tool: { kind: noop }`).start();
    story.does('start', 'A').fails('start').does('start', 'C').does('start', 'D');
    const fork = story.fork({ mode: 'from_failure' });
    expect(items(fork)).toEqual([1]);
    fork.does('start', 'B');
    expect(fork.state.status).toBe('COMPLETED');
    expect(fork.state.steps.start?.data).toMatchObject({ results: ['A', 'B', 'C', 'D'], stats: { success: 4 } });
  });

  it('runs an item once that had used up all its attempts', () => {
    const story = given(`
  - step: start
    loop: { in: [a, b], iterator: item }
    tool: { kind: noop }
    spec: { on_error: retry, max_attempts: 3 }`).start();
    story.does('start').fails('start').fails('start').fails('start');
    const fork = story.fork({ mode: 'from_failure' });
    expect(items(fork)).toEqual([1]);
    expect(fork.does('start').state.status).toBe('COMPLETED');
  });

  it('does not run an item again that succeeded at a further attempt', () => {
    const story = given(`
  - step: start
    loop: { in: [a, b], iterator: item }
    tool: { kind: noop }
    spec: { on_error: retry, max_attempts: 2 }`).start();
    story.fails('start').does('start', 'A').fails('start').fails('start');
    const fork = story.fork({ mode: 'from_failure' });
    expect(items(fork)).toEqual([1]);
  });

  it('goes on with the rows that a cursor has claimed', () => {
    const story = given(`
  - step: start
    loop: { iterator: row, cursor: { kind: postgres, claim: x }, spec: { mode: cursor, frame: { max_rows: 3 } } }
    tool: { kind: noop }`).start();
    story.does('start', ['a', 'b', 'c']).does('start').fails('start');
    const fork = story.fork({ mode: 'from_failure' });
    expect(fork.last('command.issued').context).toMatchObject({ args: { row: 'b' } });
    fork.does('start').does('start').does('start', []);
    expect(fork.state.steps.start?.data).toMatchObject({
      cursor: 'drained',
      stats: { total: 3, success: 3, failed: 0 },
    });
  });

  it('repeats a claim that failed', () => {
    const story = given(`
  - step: start
    loop: { iterator: row, cursor: { kind: postgres, claim: x }, spec: { mode: cursor } }
    tool: { kind: noop }`).start();
    const fork = story.fails('start').fork({ mode: 'from_failure' });
    expect(fork.command('start').cursor).toMatchObject({ phase: 'claim' });
    fork.does('start', []);
    expect(fork.state.status).toBe('COMPLETED');
  });

  it('repeats a claim that was under way, although another one had brought no rows', () => {
    const story = given(`
  - step: start
    loop: { iterator: row, cursor: { kind: postgres, claim: x }, spec: { mode: cursor, max_in_flight: 2 } }
    tool: { kind: noop }`).start();
    const fork = story.does('start', []).cancel().fork({ mode: 'from_failure' });
    expect(fork.command('start').cursor).toMatchObject({ phase: 'claim' });
  });

  it('keeps to the window of a cursor, although several of its frames have to be gone through again', () => {
    const story = given(`
  - step: start
    loop:
      iterator: row
      cursor: { kind: postgres, claim: x }
      spec: { mode: cursor, policy: { on_error: continue } }
    tool: { kind: noop }`).start();
    story.does('start', ['a']).fails('start').does('start', ['b']).fails('start').fails('start', 'no connection');
    const fork = story.fork({ mode: 'from_failure' });
    expect(fork.open()).toEqual(['start']);
    fork.does('start').does('start').does('start', []);
    expect(fork.state.steps.start?.data).toMatchObject({ cursor: 'drained', stats: { success: 2, failed: 0 } });
  });

  it('runs the failed item of a loop that had not come to its end', () => {
    const story = given(`
  - step: start
    tool: { kind: noop }
    next: { spec: { mode: inclusive }, arcs: [{ step: each }, { step: other }] }
  - step: each
    loop: { in: [a, b], iterator: item, spec: { mode: parallel } }
    tool: { kind: noop }
  - step: other
    tool: { kind: noop }`)
      .start()
      .does('start')
      .fails('each')
      .fails('other')
      .does('each');
    const fork = story.fork({ mode: 'from_failure' });
    expect(fork.does('each').does('other').state.status).toBe('COMPLETED');
  });

  it('starts another child for one that failed', () => {
    const story = given(`
  - step: start
    tool: { kind: playbook, path: child, return_result: true }`).start();
    const first = story.messages[0]?.target;
    const fork = story.childEnded('start', { status: 'FAILED' }).fork({ mode: 'from_failure' });
    expect(fork.messages).toMatchObject([{ type: 'start_child' }]);
    expect(fork.messages[0]?.target).not.toBe(first);
  });

  it('leaves a failure alone that was tolerated', () => {
    const story = given(`
  - step: start
    tool: { kind: noop }
    next: { spec: { mode: inclusive }, arcs: [{ step: optional }, { step: work }] }
  - step: optional
    tool: { kind: noop }
    spec: { on_error: continue }
  - step: work
    tool: { kind: noop }`)
      .start()
      .does('start')
      .fails('optional')
      .fails('work');
    expect(issued(story.fork({ mode: 'from_failure' }))).toEqual(['work']);
  });

  it('leaves alone what a loop took back whose failure was handled', () => {
    const story = given(`
  - step: start
    loop: { in: [a, b], iterator: item, spec: { mode: parallel, policy: { on_error: fail_fast } } }
    tool: { kind: noop }
    next: { arcs: [{ step: rescue, when: "{{ event.name == 'call.error' }}" }] }
  - step: rescue
    tool: { kind: noop }`)
      .start()
      .fails('start')
      .does('rescue');
    expect(story.steps('command.cancelled')).toEqual(['start']);
    expect(forkPrefix(story.compiled.graph, story.log, { mode: 'from_failure' })).toBe('nothing_failed');
  });

  it('is refused when nothing failed', () => {
    const story = given(chain).start({ n: 1 }).does('start').does('middle').does('last');
    expect(forkPrefix(story.compiled.graph, story.log, { mode: 'from_failure' })).toBe('nothing_failed');
  });
});

describe('a fork from a step', () => {
  const diamond = `
  - step: start
    tool: { kind: noop }
    next: { spec: { mode: inclusive }, arcs: [{ step: left }, { step: right }] }
  - step: left
    tool: { kind: noop }
    next: { arcs: [{ step: join }] }
  - step: right
    tool: { kind: noop }
    next: { arcs: [{ step: join }] }
  - step: join
    tool: { kind: noop }`;

  it('runs the step again and everything behind it, and keeps its neighbours', () => {
    const story = given(diamond).start().does('start').does('left', 'L').does('right', 'R').does('join');
    const fork = story.fork({ mode: 'from_step', step: 'left' });
    expect(fork.open()).toEqual(['left']);
    expect(fork.state.steps.right?.data).toBe('R');
    fork.does('left', 'new');
    expect(fork.open()).toEqual(['join']);
    expect(fork.does('join').state.status).toBe('COMPLETED');
  });

  it('begins anew when it is the first step', () => {
    const story = given(diamond).start().does('start').does('left').does('right').does('join');
    const fork = story.fork({ mode: 'from_step', step: 'start' });
    expect(fork.open()).toEqual(['start']);
  });

  it('runs the final step again, which comes after everything', () => {
    const story = given(
      `
  - step: start
    tool: { kind: noop }
  - step: report
    tool: { kind: noop }`,
      'executor: { spec: { final_step: report } }',
    )
      .start()
      .does('start')
      .does('report');
    const fork = story.fork({ mode: 'from_step', step: 'start' });
    expect(fork.open()).toEqual(['start']);
    expect(fork.does('start').open()).toEqual(['report']);
  });

  it('gives a signal back that had ended a wait which is made again', () => {
    const story = given(`
  - step: start
    tool: { kind: wait, signal: go }
    next: { arcs: [{ step: work }] }
  - step: work
    tool: { kind: noop }`);
    const fork = story.start().signal('go', 'please').fails('work').fork({ mode: 'from_step', step: 'start' });
    expect(fork.state.steps.start?.data).toMatchObject({ payload: 'please' });
    expect(fork.open()).toEqual(['work']);
  });

  it('is refused for a step that never ran', () => {
    const story = given(diamond).start().cancel();
    expect(forkPrefix(story.compiled.graph, story.log, { mode: 'from_step', step: 'join' })).toBe('step_never_ran');
  });
});

describe('a fork from an event', () => {
  it('goes on from any event of the log to the same end', () => {
    const story = given(chain).start({ n: 1 }).does('start', 7).does('middle').does('last');
    for (const { event_id } of story.log) {
      const fork = story.fork({ mode: 'from_event', eventId: event_id });
      while (fork.state.status === 'RUNNING') for (const step of fork.open()) fork.does(step);
      expect(fork.state.status).toBe('COMPLETED');
      expect(fork.steps('step.enter')).toEqual(['start', 'middle', 'last']);
    }
  });

  it('skips what is dead although the log was cut before it said so', () => {
    const story = given(`
  - step: start
    tool: { kind: noop }
    next:
      spec: { mode: exclusive }
      arcs: [{ step: left, when: "{{ workload.go }}" }, { step: right }]
  - step: left
    tool: { kind: noop }
  - step: right
    tool: { kind: noop }`)
      .start({ go: true })
      .does('start')
      .does('left');
    const fork = story.fork({ mode: 'from_event', eventId: story.last('next.evaluated').event_id });
    const routed = story.log.find((row) => row.event_type === 'next.evaluated');
    const cut = story.fork({ mode: 'from_event', eventId: (routed ?? story.last('next.evaluated')).event_id });
    expect(fork.state.status).toBe('COMPLETED');
    expect(cut.does('left').steps('step.skipped')).toEqual(['right']);
  });

  it('takes another way when its inputs are changed', () => {
    const story = given(chain).start({ n: 1 }).does('start').does('middle').does('last');
    const entered = story.log.filter((row) => row.event_type === 'step.enter')[1];
    const fork = story.fork({ mode: 'from_event', eventId: (entered ?? story.last('step.enter')).event_id }, { n: 5 });
    expect(fork.last('command.issued').context).toMatchObject({ tool_config: { message: 5 } });
  });

  it('is refused for an event of another execution', () => {
    const story = given(chain).start({ n: 1 });
    const point = { mode: 'from_event', eventId: '1' as (typeof story.log)[0]['event_id'] } as const;
    expect(forkPrefix(story.compiled.graph, story.log, point)).toBe('unknown_event');
  });
});

it('a fork can be forked', () => {
  const first = given(chain).start({ n: 1 }).does('start').fails('middle').fork({ mode: 'from_failure' });
  const second = first.does('middle').fails('last').fork({ mode: 'from_failure' });
  expect(second.open()).toEqual(['last']);
  expect(second.does('last').state.status).toBe('COMPLETED');
});

it('no command of the copied log is open in the fork', () => {
  const source = given(chain).start({ n: 1 }).does('start');
  const fork = source.fork({ mode: 'from_event', eventId: source.last('command.issued').event_id });
  const forkedAt = fork.last('execution.forked').stream_version;
  const versions = Object.values(fork.state.commands).map(
    ({ eventId }) => fork.log.find((row) => row.event_id === eventId)?.stream_version ?? 0,
  );
  expect(versions.every((version) => version > forkedAt)).toBe(true);
});

describe('a fork from an event in the middle of what one report led to', () => {
  const counts = `
  - step: start
    tool: { kind: noop }
    set: { ctx.n: "{{ (ctx.n | default(0)) + 1 }}" }
    next: { arcs: [{ step: last }] }
  - { step: last, tool: { kind: noop } }`;

  it('sets nothing twice when the cut lies behind what a step has set', () => {
    const story = given(counts).start().does('start');
    const fork = story.fork({ mode: 'from_event', eventId: story.last('ctx.updated').event_id });
    expect(fork.state.ctx).toEqual({ n: 1 });
    expect(fork.open()).toEqual(['last']);
  });

  it('goes on from the report itself as the engine did', () => {
    const story = given(counts).start().does('start');
    const fork = story.fork({ mode: 'from_event', eventId: story.last('command.completed').event_id });
    expect(fork.state.ctx).toEqual({ n: 1 });
    expect(fork.open()).toEqual(['last']);
  });

  it('loses nothing that a list of tools has set on its way', () => {
    const story = given(`
  - { step: start, tool: [{ name: a, kind: noop }], next: { arcs: [{ step: last }] } }
  - { step: last, tool: { kind: noop } }`).start();
    story.does('start', { a: 1, _context_updates: { 'ctx.page': 3 } });
    const fork = story.fork({ mode: 'from_event', eventId: story.last('command.completed').event_id });
    expect(fork.state.ctx).toEqual({ page: 3 });
    expect(fork.open()).toEqual(['last']);
  });
});
