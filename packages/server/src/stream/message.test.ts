import { type Id, type JsonObject, parseJson } from '@noetl/core';
import { describe, expect, it } from 'vitest';
import { eventMessage, isMessageOf } from './message.js';
import type { EventParts, OutgoingEvent, Position } from './outgoing.js';

const HEAD =
  '{"execution_id":642881234567890123,"event_id":642881234567890124,"event_type":"note.made","node_name":"a"}';
const event = (parts: Partial<EventParts> | undefined, head = HEAD): OutgoingEvent => ({
  position: '1/642881234567890123/1' as Position,
  executionId: '642881234567890123' as Id,
  eventId: '642881234567890124' as Id,
  type: 'note.made',
  bytes: 5_000_000,
  head,
  parts: parts && { context: null, result: null, meta: null, error: null, ...parts },
});
const send = (given: OutgoingEvent, maxBytes = 10_000) => {
  const message = eventMessage(given, { maxBytes, url: 'http://noetl:8082' });
  const body = Buffer.from(message.body).toString();
  return { ...message, body, json: parseJson(body) as JsonObject };
};

describe('the message of an event', () => {
  it('holds the row, ids without loss', () => {
    const { json, subject, claimCheck } = send(event({ context: '{"n": 9007199254740993}', error: 'a "b"' }));
    expect({ subject, claimCheck }).toEqual({
      subject: 'noetl.events.note.made',
      claimCheck: false,
    });
    expect(json).toEqual({
      execution_id: 642881234567890123n,
      event_id: 642881234567890124n,
      event_type: 'note.made',
      node_name: 'a',
      context: { n: 9007199254740993n },
      result: null,
      meta: null,
      error: 'a "b"',
    });
  });

  it('masks secrets, like everything that leaves', () => {
    const { body } = send(
      event({ context: '{"password": "hunter2-hunter2"}', error: 'postgres://ada:hunter2-hunter2@db/x refused' }),
    );
    expect(body).not.toContain('hunter2');
  });

  it('hides what is nested too deeply to look for secrets, and still leaves', () => {
    const deep = `${'['.repeat(2_000)}"hunter2"${']'.repeat(2_000)}`;
    expect(send(event({ context: deep })).json['context']).toBe('[REDACTED]');
  });

  it('says of which execution it is', () => {
    const { body } = send(event({}));
    expect(isMessageOf(body, '642881234567890123' as Id)).toBe(true);
    expect(isMessageOf(body, '64288123456789012' as Id)).toBe(false);
  });
});

describe('the message of an event that is too large', () => {
  const reference = {
    execution_id: 642881234567890123n,
    event_id: 642881234567890124n,
    url: 'http://noetl:8082/api/events/642881234567890123/642881234567890124',
    bytes: 5_000_000,
  };

  it.each([
    ['that stayed in the database', event(undefined)],
    ['that does not fit', event({ context: JSON.stringify('x'.repeat(20_000)) })],
  ])('is a claim check: an event %s', (_name, given) => {
    const { json, claimCheck } = send(given);
    expect(claimCheck).toBe(true);
    expect(json).toMatchObject({ event_type: 'note.made', node_name: 'a', context: null, payload_ref: reference });
  });

  it('fits whatever was written into a name', () => {
    const { body, json } = send(event(undefined, HEAD.replace('"a"', JSON.stringify('n'.repeat(2_000_000)))));
    expect(body.length).toBeLessThan(3_000);
    expect(isMessageOf(body, '642881234567890123' as Id)).toBe(true);
    expect(json['payload_ref']).toEqual(reference);
  });
});
