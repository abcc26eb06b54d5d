// Steps that may say no: `when` and `spec.policy.admit` (dsl.md §1.13, §3.16).
import { describe, expect, it } from 'vitest';
import { given } from './simulation/story.js';

const tool = 'tool: { kind: noop }';

describe('a guard', () => {
  it('B14: is asked of the entry step too, and a denied entry completes with nothing run', () => {
    const story = given(`  - { step: a, when: "{{ workload.on }}", ${tool} }`).start({ on: false });
    expect(story.state.status).toBe('COMPLETED');
    expect(story.steps('step.enter')).toEqual([]);
  });

  it('B14: the entry step gets a step.enter and sees the execution id', () => {
    const story = given('  - { step: a, tool: { kind: noop, input: { id: "{{ execution_id }}" } } }').start();
    expect(story.steps('step.enter')).toEqual(['a']);
    expect(story.last('command.issued').context).toMatchObject({ args: { id: story.state.executionId } });
  });

  it('B36: a step that its guard skips passes the run on by every arc that matches, a defined `end` included', () => {
    const story = given(`
  - { step: a, ${tool}, next: g }
  - { step: g, when: "{{ false }}", ${tool}, next: [b, end] }
  - { step: b, ${tool} }
  - { step: end, ${tool} }`)
      .start()
      .does('a');
    expect(story.open()).toEqual(['b']);
    expect(story.does('b').open()).toEqual(['end']);
  });

  it('does not write the `set` of a step that it skips', () => {
    const story = given(`  - { step: a, when: "{{ false }}", ${tool}, set: { ctx.x: 1 } }`).start();
    expect(story.state.ctx).toEqual({});
  });

  it('spec.policy.admit is a guard too', () => {
    const story = given(`
  - step: a
    ${tool}
    spec: { policy: { admit: { rules: [{ when: "{{ workload.vip }}", then: { allow: true } }, { else: { then: { allow: false } } }] } } }`);
    expect(story.start({ vip: false }).steps('step.skipped')).toEqual(['a']);
  });

  it('does not show its arcs how an earlier visit ended', () => {
    const story = given(`
  - step: a
    ${tool}
    when: "{{ ctx.tried is not defined }}"
    next:
      arcs:
        - { step: a, when: "{{ event.name == 'call.error' and ctx.tried is not defined }}", set: { ctx.tried: true } }
        - { step: sorry, when: "{{ event.name == 'call.error' }}" }
        - { step: fine }
  - { step: sorry, ${tool} }
  - { step: fine, ${tool} }`)
      .start()
      .fails('a');
    expect(story.open()).toEqual(['fine']);
  });

  it('a loop of steps that are all skipped ends this execution instead of going on for ever', () => {
    const story = given(`
  - { step: a, ${tool}, next: b }
  - { step: b, when: "{{ false }}", ${tool}, next: b }`)
      .start()
      .does('a');
    expect(story.state).toMatchObject({
      status: 'FAILED',
      error: expect.stringContaining("step 'b' goes round in a loop"),
    });
  });
});
