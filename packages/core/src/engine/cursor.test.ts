// A loop over a cursor: rows are claimed frame by frame until a claim brings none.
import { describe, expect, it } from 'vitest';
import type { Json } from '../json/types.js';
import { detail, given, type Story } from './simulation/story.js';

const claims = (frame: string, spec = '') => `
  - step: start
    loop:
      iterator: row
      cursor: { kind: postgres, claim: "UPDATE jobs … LIMIT {{ __frame_max_rows }}" }
      spec: { mode: cursor${spec}, frame: { ${frame} } }
    tool: { kind: noop, message: "{{ iter.row }} at {{ _index }} of {{ _total }} in frame {{ frame.index }}" }
    next: { arcs: [{ step: after, when: "{{ event.name == 'loop.done' }}" }] }
  - step: after
    tool: { kind: noop }`;

/** What is open: `claim 0` for a claim, `0.1` for a row, `0` for a frame. */
const open = (story: Story) =>
  Object.values(story.state.commands).map(({ cursor }) => {
    if (cursor === null) return 'no part of a cursor';
    if (cursor.phase === 'claim') return `claim ${cursor.frame}`;
    return cursor.row === undefined ? `${cursor.frame}` : `${cursor.frame}.${cursor.row}`;
  });
const configs = (story: Story): Json[] =>
  story.log
    .filter((row) => row.event_type === 'command.issued')
    .map((row) => (row.context as { tool_config: Json }).tool_config);

describe('a cursor', () => {
  it('claims a frame, runs its rows in order, and claims the next', () => {
    const story = given(claims('max_rows: 2')).start();
    expect(open(story)).toEqual(['claim 0']);
    story.does('start', { rows: [{ id: 1 }, { id: 2 }] });
    expect(open(story)).toEqual(['0.0']);
    story.does('start');
    expect(open(story)).toEqual(['0.1']);
    story.does('start');
    expect(open(story)).toEqual(['claim 1']);
  });

  it('ends when a claim brings no rows', () => {
    const story = given(claims('max_rows: 2'))
      .start()
      .does('start', { rows: [{ id: 1 }] })
      .does('start')
      .does('start', { rows: [] });
    expect(story.open()).toEqual(['after']);
    expect(story.state.steps.start?.data).toEqual({
      cursor: 'drained',
      frames: 1,
      results: [],
      stats: { total: 1, success: 1, failed: 0 },
      errors: [],
    });
  });

  it('ends at once when there is nothing to claim', () => {
    const story = given(claims('max_rows: 2')).start().does('start', []);
    expect(story.open()).toEqual(['after']);
    expect(detail(story.last('loop.done'))).toMatchObject({ iterations_expected: 0, succeeded: 0, failed: 0 });
  });

  it('tells its claim how many rows it wants, and each row where it stands', () => {
    const story = given(claims('max_rows: 5'))
      .start()
      .does('start', { rows: ['a', 'b'] });
    expect(configs(story)).toMatchObject([
      { kind: 'postgres', command: 'UPDATE jobs … LIMIT 5' },
      { message: 'a at 0 of 2 in frame 0' },
    ]);
  });

  it.each([
    ['a list', ['a']],
    ['rows as objects', { rows: ['a'] }],
    ['rows beside the names of their columns', { columns: ['x'], rows: [['a']] }],
    ['rows inside data', { data: { rows: ['a'] } }],
  ])('reads %s', (_, data) => {
    expect(open(given(claims('max_rows: 1')).start().does('start', data))).toEqual(['0.0']);
  });

  it.each([
    ['max_rows: 0', 'max_rows'],
    ['row_concurrency: some', 'row_concurrency'],
    ['process: table', 'process'],
  ])('fails its step when it says %s', (frame, field) => {
    const story = given(claims(`"${frame.split(': ')[0]}": "{{ '${frame.split(': ')[1]}' }}"`)).start();
    expect(story.state.status).toBe('FAILED');
    expect(story.state.error).toContain(field);
  });
});

describe('the windows of a cursor', () => {
  it('row_concurrency rows of a frame run at once', () => {
    const story = given(claims('max_rows: 3, row_concurrency: 2')).start().does('start', [1, 2, 3]);
    expect(open(story)).toEqual(['0.0', '0.1']);
    story.does('start');
    expect(open(story)).toEqual(['0.1', '0.2']);
  });

  it('max_in_flight frames are open at once, claims among them', () => {
    const story = given(claims('max_rows: 1', ', max_in_flight: 2')).start();
    expect(open(story)).toEqual(['claim 0', 'claim 1']);
    story.does('start', ['a']);
    expect(open(story)).toEqual(['claim 1', '0.0']);
  });

  it('a frame is run by one command when it is processed whole', () => {
    const story = given(claims('max_rows: 3, process: frame')).start().does('start', ['a', 'b']);
    expect(open(story)).toEqual(['0']);
    expect(story.last('command.issued').context).toMatchObject({ args: { row: ['a', 'b'] } });
    story.does('start');
    expect(open(story)).toEqual(['claim 1']);
  });

  it('an empty claim claims no more, but rows of other frames still run', () => {
    const story = given(claims('max_rows: 2', ', max_in_flight: 2')).start().does('start', []);
    expect(open(story)).toEqual(['claim 1']);
    story.does('start', ['a', 'b']);
    story.does('start').does('start');
    expect(story.open()).toEqual(['after']);
  });
});

describe('trouble in a cursor', () => {
  it('a claim that fails ends the loop, once what runs has ended', () => {
    const story = given(claims('max_rows: 2', ', max_in_flight: 2, policy: { on_error: continue }')).start();
    story.does('start', ['a', 'b']).fails('start', 'no connection');
    expect(open(story)).toEqual(['0.0']);
    story.does('start');
    expect(story.state.status).toBe('FAILED');
    expect(story.state.error).toContain('the claim of a frame failed: no connection');
  });

  it('a row that fails stops the loop', () => {
    const story = given(claims('max_rows: 2')).start().does('start', ['a', 'b']).fails('start');
    expect(story.state.status).toBe('FAILED');
    expect(story.state.steps.start?.data).toMatchObject({ cursor: 'stopped', stats: { total: 1, failed: 1 } });
  });

  it('a row that fails is counted when the loop goes on', () => {
    const story = given(claims('max_rows: 2', ', policy: { on_error: continue }')).start().does('start', ['a', 'b']);
    story.fails('start').does('start').does('start', []);
    expect(story.open()).toEqual(['after']);
    expect(story.state.steps.start?.data).toMatchObject({ stats: { total: 2, success: 1, failed: 1 } });
  });

  it('a row that fails takes the others with it when the loop fails fast', () => {
    const story = given(claims('max_rows: 2, row_concurrency: 2', ', policy: { on_error: fail_fast }')).start();
    story.does('start', ['a', 'b']).fails('start');
    expect(story.state.status).toBe('FAILED');
    expect(story.steps('command.cancelled')).toEqual(['start']);
  });

  it('a claim whose worker is lost is claimed again as the same command', () => {
    const story = given(claims('max_rows: 1')).start();
    const { commandId, token } = story.claim('start');
    story.when({ type: 'lease_expired', commandId, token });
    expect(open(story)).toEqual(['claim 0']);
    expect(story.command('start').commandId).toBe(commandId);
  });

  it('a claim that cannot be rendered fails the step', () => {
    const story = given(claims('max_rows: 1').replace('__frame_max_rows', '1 / 0')).start();
    expect(story.state.status).toBe('FAILED');
  });

  it('a failure elsewhere lets nothing new start', () => {
    const story = given(`
  - step: start
    tool: { kind: noop }
    next: { spec: { mode: inclusive }, arcs: [{ step: each }, { step: other }] }
  - step: each
    loop: { iterator: row, cursor: { kind: postgres, claim: x }, spec: { mode: cursor, frame: { max_rows: 2 } } }
    tool: { kind: noop }
  - step: other
    tool: { kind: noop }`)
      .start()
      .does('start')
      .does('each', ['a', 'b'])
      .fails('other')
      .does('each');
    expect(story.state.status).toBe('FAILED');
    expect(story.state.steps.each).toMatchObject({ phase: 'failed', loop: null });
  });
});
