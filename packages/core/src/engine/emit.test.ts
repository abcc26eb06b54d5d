// Domain events: what a step says about the things it has touched.
import { expect, it } from 'vitest';
import { given } from './simulation/story.js';

const emitted = (story: ReturnType<typeof given>) =>
  story.log
    .filter((row) => row.node_type === 'business_object')
    .map((row) => ({ type: row.event_type, status: row.status, ...(row.meta as { business_object: object }) }))
    .map(({ type, status, business_object }) => ({ type, status, ...business_object }));

it('a step that succeeds leaves its events behind, before what follows it', () => {
  const story = given(`
  - step: pay
    tool: { kind: noop }
    emit: { type: order.paid, object: { type: order, id: "{{ output.data.id }}" }, patch: { paid: true }, status: PAID }
    next: { arcs: [{ step: end }] }
  - { step: end, tool: { kind: noop } }
`)
    .start()
    .does('pay', { id: 7 });
  expect(emitted(story)).toEqual([
    { type: 'order.paid', status: 'PAID', object_type: 'order', object_id: '7', patch: { paid: true } },
  ]);
  expect(story.ledTo().slice(0, 2)).toEqual(['order.paid pay', 'next.evaluated pay']);
});

it('one event for each item of `for`, and only where `when` holds', () => {
  const story = given(`
  - step: load
    tool: { kind: noop }
    emit:
      - type: row.loaded
        for: "{{ output.data.rows }}"
        as: row
        when: "{{ row.ok }}"
        object: { type: row, id: "{{ row.id }}" }
        state: { n: "{{ row.n }}" }
`)
    .start()
    .does('load', {
      rows: [
        { id: 'a', n: 1, ok: true },
        { id: 'b', n: 2, ok: false },
      ],
    });
  expect(emitted(story)).toEqual([
    { type: 'row.loaded', status: null, object_type: 'row', object_id: 'a', state: { n: 1 } },
  ]);
});

it('a step that fails leaves none', () => {
  const story = given(`
  - { step: pay, tool: { kind: noop }, emit: { type: order.paid, object: { type: order, id: 1 } } }
`)
    .start()
    .fails('pay');
  expect(emitted(story)).toEqual([]);
});

it('an object without an id fails the step, and says why', () => {
  const story = given(`
  - { step: pay, tool: { kind: noop }, emit: { type: order.paid, object: { type: order, id: "{{ output.data.id }}" } } }
`)
    .start()
    .does('pay', {});
  expect(story.state).toMatchObject({ status: 'FAILED' });
  expect(story.state.error).toContain('`object.id` is empty');
});
