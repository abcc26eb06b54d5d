import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventSubject, isSubject } from './subject.js';

describe('the subject of an event', () => {
  it.each([
    ['playbook_started', 'noetl.events.playbook_started'],
    ['command.completed', 'noetl.events.command.completed'],
    ['', 'noetl.events.unknown'],
    ['a..b', 'noetl.events.a.unknown.b'],
    ['bad type', 'noetl.events.bad_type'],
    ['*.>', 'noetl.events._._'],
    ['a\r\nPUB x 0', 'noetl.events.a__PUB_x_0'],
  ])('of type %j is %s', (type, subject) => {
    expect(eventSubject(type)).toBe(subject);
  });

  it('is one that NATS takes, whatever the type', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3_000 }), (type) => {
        const subject = eventSubject(type);
        expect(subject).toMatch(/^noetl\.events(\.[A-Za-z0-9_-]+)+$/);
        expect(subject.length).toBeLessThan(2_000);
      }),
    );
  });
});

it.each(['', 'a b', 'a..b', '.a', 'a.', 'a.*', 'a.>', 'a\nb', 'x'.repeat(2_000)])('%j is no subject', (text) => {
  expect(isSubject(text)).toBe(false);
});

it('what we call a subject is one', () => {
  expect(isSubject(eventSubject('command.completed'))).toBe(true);
  expect(isSubject('noetl.commands.shared.642881234567890123')).toBe(true);
});
