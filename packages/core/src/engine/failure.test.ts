// What a failure does: error arcs, retry, continue, fail_fast, draining, and the one end of a run (dsl.md §3.11, §3.13, §3.14).
import { describe, expect, it } from 'vitest';
import { completed } from './simulation/reports.js';
import { given } from './simulation/story.js';

const tool = 'tool: { kind: noop }';

describe('a failure nobody handles', () => {
  it('ends the run as failed and names the step', () => {
    const story = given(`  - { step: a, ${tool}, next: b }\n  - { step: b, ${tool} }`)
      .start()
      .fails('a', 'no route to host');
    expect(story.ledTo()).toEqual(['next.evaluated a', 'playbook.failed playbook']);
    expect(story.state).toMatchObject({
      status: 'FAILED',
      failedSteps: ['a'],
      error: "Step 'a' failed: no route to host",
    });
  });

  it('does not fire an arc that asks about something else than the outcome', () => {
    const story = given(`
  - { step: a, ${tool}, next: [{ step: b, when: "{{ workload.x }}" }] }
  - { step: b, ${tool} }`)
      .start({ x: true })
      .fails('a');
    expect(story.state.status).toBe('FAILED');
  });

  it('lets running siblings finish their command, and starts nothing new', () => {
    const story = given(`
  - { step: a, ${tool}, next: [b, c] }
  - { step: b, ${tool} }
  - { step: c, ${tool}, next: d }
  - { step: d, ${tool} }`)
      .start()
      .does('a')
      .fails('b');
    expect(story.open()).toEqual(['c']);
    expect(story.does('c').ledTo()).toEqual(['playbook.failed playbook']);
    expect(story.steps('step.enter')).toEqual(['a', 'b', 'c']);
  });

  it('B16: a failure beside a running sibling is not forgotten when the sibling completes last', () => {
    const story = given(`
  - { step: a, ${tool}, next: [b, c] }
  - { step: b, ${tool}, next: j }
  - { step: c, ${tool}, next: j }
  - { step: j, ${tool} }`)
      .start()
      .does('a')
      .fails('b')
      .does('c');
    expect(story.state.status).toBe('FAILED');
  });

  it('cancels the siblings at once when the step says fail_fast', () => {
    const story = given(`
  - { step: a, ${tool}, next: [b, c] }
  - { step: b, ${tool}, spec: { policy: { failure: { mode: fail_fast } } } }
  - { step: c, ${tool} }`)
      .start()
      .does('a')
      .fails('b');
    expect(story.ledTo()).toEqual(['next.evaluated b', 'command.cancelled c', 'playbook.failed playbook']);
  });

  it('fails a step whose tool answers with an error status', () => {
    const story = given(`  - { step: a, ${tool} }`).start();
    const { commandId, token } = story.claim('a');
    story.when({ type: 'event', row: completed({ commandId, step: 'a', workerId: 'w1' }, 'error'), token });
    expect(story.state.status).toBe('FAILED');
  });
});

describe('a failure that an arc handles', () => {
  const handled = (when: string) =>
    given(`
  - step: a
    ${tool}
    next: { arcs: [{ step: sorry, when: "${when}" }, { step: fine }] }
  - { step: sorry, tool: { kind: noop, input: { why: "{{ ctx.why | default('') }}" } } }
  - { step: fine, ${tool} }`).start();

  it.each([
    "{{ event.name == 'call.error' }}",
    "{{ output.status == 'error' }}",
    "{{ outcome.status == 'failed' }}",
    "{{ error.code == 'BROKEN' }}",
    '{{ output.error.message is defined }}',
  ])('goes on by %s', (when) => {
    expect(handled(when).fails('a').open()).toEqual(['sorry']);
  });

  it('completes the run when nothing else failed', () => {
    const story = handled("{{ event.name == 'call.error' }}").fails('a').does('sorry');
    expect(story.state).toMatchObject({ status: 'COMPLETED', failedSteps: [], failure: null });
  });

  it('is not taken when the step succeeds', () => {
    expect(handled("{{ event.name == 'call.error' }}").does('a').open()).toEqual(['fine']);
  });

  it('does not write the `set` of the step that failed', () => {
    const story = given(`
  - { step: a, ${tool}, set: { ctx.x: 1 }, next: [{ step: b, when: "{{ error.message is defined }}", set: { ctx.y: 2 } }] }
  - { step: b, ${tool} }`)
      .start()
      .fails('a');
    expect(story.state.ctx).toEqual({ y: 2 });
  });
});

describe('spec.on_error', () => {
  it('continue: treats the failure as a result', () => {
    const story = given(`
  - { step: a, ${tool}, spec: { on_error: continue }, set: { ctx.was: "{{ output.status }}" }, next: b }
  - { step: b, ${tool} }`)
      .start()
      .fails('a');
    expect(story.open()).toEqual(['b']);
    expect(story.state.ctx.was).toBe('error');
    expect(story.does('b').state.status).toBe('COMPLETED');
  });

  const retried = `
  - { step: a, ${tool}, spec: { on_error: retry, max_attempts: 3 }, next: { arcs: [{ step: bad, when: "{{ error.message is defined }}" }, { step: b, when: "{{ output.status == 'ok' }}" }] } }
  - { step: b, ${tool} }
  - { step: bad, ${tool} }`;

  it('retry: issues a new command of the same visit', () => {
    const story = given(retried).start().fails('a');
    expect(story.ledTo()).toEqual(['command.issued a']);
    expect(story.command('a')).toMatchObject({ run: 1, attempt: 2 });
  });

  it('retry: a later success leaves no trace of the failure for the arcs', () => {
    expect(given(retried).start().fails('a').does('a').open()).toEqual(['b']);
  });

  it('retry: gives up after max_attempts, and then asks the arcs', () => {
    const story = given(retried).start().fails('a').fails('a').fails('a');
    expect(story.steps('command.issued')).toEqual(['a', 'a', 'a', 'bad']);
  });

  it('retry: a step that is being tried again is running, so a loop does not start it twice', () => {
    const story = given(`
  - { step: start, ${tool}, next: [a, b] }
  - { step: a, ${tool}, spec: { on_error: retry }, next: c }
  - { step: b, ${tool}, next: { spec: { mode: inclusive }, arcs: [{ step: start, when: "{{ ctx.n is not defined }}", set: { ctx.n: 1 } }] } }
  - { step: c, ${tool}, next: [{ step: start, when: "{{ false }}" }] }`)
      .start()
      .does('start')
      .fails('a')
      .does('b')
      .does('start');
    expect(story.open().filter((step) => step === 'a')).toEqual(['a']);
  });

  it('retry: does not run a command again that is not idempotent and whose worker was lost', () => {
    const story = given(`  - { step: a, ${tool}, spec: { on_error: retry, idempotent: false } }`).start();
    const { commandId, token } = story.claim('a');
    story.when({ type: 'lease_expired', commandId, token });
    expect(story.state.status).toBe('FAILED');
  });
});

describe('a template that cannot be rendered', () => {
  it('in the input of a step fails the step, and its error arcs get their chance', () => {
    const story = given(`
  - { step: a, tool: { kind: noop, input: { n: "{{ 1 / workload.zero }}" } }, next: [{ step: b, when: "{{ error.code == 'TEMPLATE_ERROR' }}" }] }
  - { step: b, ${tool} }`).start({ zero: 0 });
    expect(story.open()).toEqual(['b']);
  });

  it('in a `set` fails the step', () => {
    const story = given(`
  - { step: a, ${tool}, set: { ctx.n: "{{ 1 / workload.zero }}" }, next: [{ step: b, when: "{{ event.name == 'call.error' }}" }, { step: c }] }
  - { step: b, ${tool} }
  - { step: c, ${tool} }`)
      .start({ zero: 0 })
      .does('a');
    expect(story.open()).toEqual(['b']);
  });

  it('in a `set` of a step with on_error: continue is tolerated too', () => {
    const story = given(`
  - { step: a, ${tool}, spec: { on_error: continue }, set: { ctx.n: "{{ 1 / workload.zero }}" }, next: b }
  - { step: b, ${tool} }`)
      .start({ zero: 0 })
      .does('a');
    expect(story.open()).toEqual(['b']);
  });

  it('in a guard ends this execution, with its open commands cancelled', () => {
    const story = given(`
  - { step: a, ${tool}, next: [b, c] }
  - { step: b, ${tool}, next: d }
  - { step: c, ${tool} }
  - { step: d, when: "{{ 1 / workload.zero }}", ${tool} }`)
      .start({ zero: 0 })
      .does('a')
      .does('b');
    expect(story.ledTo()).toEqual(['next.evaluated b', 'command.cancelled c', 'playbook.failed playbook']);
    expect(story.last('playbook.failed').meta).toMatchObject({ reason: 'evaluate_error' });
  });
});

describe('the end', () => {
  const twoBranches = `
  - { step: a, ${tool}, next: [b, c] }
  - { step: b, ${tool} }
  - { step: c, ${tool} }`;

  it('B19: a cancel closes every open command and is final', () => {
    const story = given(twoBranches).start().does('a');
    story.claim('b');
    story.when({ type: 'cancel', reason: 'changed my mind' });
    expect(story.ledTo()).toEqual(['command.cancelled b', 'command.cancelled c', 'playbook_cancelled playbook']);
    expect(story.state).toMatchObject({ status: 'CANCELLED', error: 'changed my mind' });
  });

  it('B19: a cancelled execution gives out no commands and takes no results', () => {
    const story = given(twoBranches).start().does('a');
    const { commandId, token } = story.claim('b');
    const waiting = story.command('c').commandId;
    story.when({ type: 'cancel', reason: 'changed my mind' });
    const report = completed({ commandId, step: 'b', workerId: 'w1' });
    expect(story.when({ type: 'claim', commandId: waiting, workerId: 'w2' }).refused).toBe('already_terminal');
    expect(story.when({ type: 'event', row: report, token }).refused).toBe('already_terminal');
  });

  it.each(['COMPLETED', 'FAILED'] as const)('finalize ends the run as %s and cancels what is open', (status) => {
    const story = given(twoBranches).start().does('a');
    story.when({ type: 'finalize', status, error: null });
    expect(story.state.status).toBe(status);
    expect(story.steps('command.cancelled')).toEqual(['b', 'c']);
  });

  it.each([
    { type: 'cancel', reason: 'again' },
    { type: 'finalize', status: 'FAILED', error: null },
  ] as const)('B34: there is one terminal event; a later $type is refused', (fact) => {
    const story = given(`  - { step: a, ${tool} }`).start().does('a');
    const { rows, refused } = story.when(fact);
    expect({ rows, refused }).toEqual({ rows: [], refused: 'already_terminal' });
  });

  it('B34: an execution starts once', () => {
    const story = given(`  - { step: a, ${tool} }`).start();
    const length = story.log.length;
    expect(story.start().log).toHaveLength(length);
  });
});
