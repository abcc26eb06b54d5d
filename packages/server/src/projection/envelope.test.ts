import type { Json } from '@noetl/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BadEvent, readEnvelope } from './envelope.js';

const NOW = '2026-06-17T16:48:21.379Z';
const FIELDS = [
  'execution_id',
  'catalog_id',
  'event_type',
  'node_name',
  'duration',
  'result',
  'meta',
  'timestamp',
  'stack_trace',
];

describe('an envelope', () => {
  it('is read, or refused as a bad event: nothing that anybody sends is an error of ours', () => {
    const anything = fc.jsonValue() as fc.Arbitrary<Json>;
    const envelope = fc.record({
      event_id: fc.oneof(fc.nat(), anything),
      fields: fc.dictionary(fc.constantFrom(...FIELDS), anything),
    });
    fc.assert(
      fc.property(envelope, ({ event_id, fields }) => {
        try {
          const { event } = readEnvelope({ ...fields, event_id }, NOW);
          expect(Number.isNaN(Date.parse(event.created_at))).toBe(false);
          expect(event.event_type).not.toBe('');
        } catch (error) {
          expect(error).toBeInstanceOf(BadEvent);
        }
      }),
    );
  });

  it('keeps every digit of a time', () => {
    const { event } = readEnvelope({ event_id: 1, timestamp: '2026-06-17T16:48:21.379403' }, NOW);
    expect(event.created_at).toBe('2026-06-17T16:48:21.379403Z');
  });

  it.each(['16:48', '2026-06-17', 'now', '2026-13-17T00:00:00', 1_790_000_000])(
    'is refused with the time %j',
    (timestamp) => {
      expect(() => readEnvelope({ event_id: 1, timestamp }, NOW)).toThrow(/timestamp/);
    },
  );

  it.each([
    { status: 7 },
    { status: 'ok', rows: 3 },
    { status: 'ok', context: [] },
    { status: 'ok', reference: 'x' },
    'ok',
    [],
  ])('is refused with the result %j', (result) => {
    expect(() => readEnvelope({ event_id: 1, result }, NOW)).toThrow(/result/);
  });

  it('keeps a stack trace beside what meta holds', () => {
    const { event } = readEnvelope({ event_id: 1, meta: { a: 1 }, stack_trace: 'at x' }, NOW);
    expect(event.meta).toEqual({ a: 1, stack_trace: 'at x' });
  });
});
