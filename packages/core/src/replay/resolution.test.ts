import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type ExactJson, parseExactJson } from './exact-json.js';
import { foldExportedLog, readExportedLog } from './exported-log.js';
import {
  locatorOf,
  payloadReferencesOf,
  resolutionRow,
  resolutionSummary,
  resolvedPayload,
  storeRequestOf,
  unresolvedPayload,
} from './resolution.js';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const state = foldExportedLog(
  readExportedLog(
    JSON.stringify({
      execution_id: 1,
      events: [
        { event_id: 1, event_type: 'frame.committed', frame_id: 'f', result: { reference: 'one' } },
        { event_id: 2, meta: { object_type: 't', object_id: 'o' }, result: { reference: { ref: 'two' } } },
      ],
    }),
  ),
);

it('every reference is found, with the place it stands in', () => {
  expect(payloadReferencesOf(state)).toEqual([
    { scope: 'execution', event_id: '1', reference: 'one' },
    { scope: 'execution', event_id: '2', reference: { ref: 'two' } },
    { scope: 'frame', frame_id: 'f', event_id: '1', reference: 'one' },
    { scope: 'business_object', object_key: 't/o', event_id: '2', reference: { ref: 'two' } },
  ]);
});

describe('a reference', () => {
  it.each<[ExactJson, string | undefined]>([
    ['gs://b/k', 'gs://b/k'],
    ['', undefined],
    [7, undefined],
    [{ kind: 'payload_store', uri: 'u', sha256: 'h', ref: 'r' }, 'u'],
    [{ kind: 'payload_store', sha256: 'h', ref: 'r' }, 'h'],
    [{ ref: '', uri: 'u', locator: 'l' }, 'u'],
    [{ ref: 5, rows_ref: { locator: 'l' } }, 'l'],
    [{}, undefined],
  ])('%j is found at %s', (reference, expected) => {
    expect(locatorOf(reference)).toBe(expected);
  });

  it.each<[string, ExactJson, ExactJson | undefined]>([
    ['itself, where it describes itself', { kind: 'result_ref', ref: 'r' }, { kind: 'result_ref', ref: 'r' }],
    ['its rows', { ref: 'r', rows_ref: { ref: 'rows' } }, { ref: 'rows' }],
    ['its locator', { kind: 'other', ref: 'r' }, 'r'],
    ['its text', 'r', 'r'],
    ['nothing', {}, undefined],
  ])('asks the store for %s', (_, reference, expected) => {
    expect(storeRequestOf(reference)).toEqual(expected);
  });
});

describe('a payload', () => {
  it('is told by checksum and size, never shown', () => {
    expect(resolvedPayload('r', parseExactJson('{"rows":[1.0,2],"é":1}'))).toEqual({
      ref: 'r',
      resolved: true,
      checksum: sha256('{"rows":[1.0,2],"\\u00e9":1}'),
      size_bytes: 27,
      row_count: 2,
      value_type: 'dict',
      error: null,
    });
  });

  it.each([
    ['[]', 'list', 0],
    ['{"rows":5}', 'dict', null],
    ['"x"', 'str', null],
    ['1', 'int', null],
    ['320816801799737344', 'int', null],
    ['1.0', 'float', null],
    ['0.5', 'float', null],
    ['true', 'bool', null],
    ['null', 'NoneType', null],
  ])('%s is a %s', (text, value_type, row_count) => {
    expect(resolvedPayload('r', parseExactJson(text))).toMatchObject({ value_type, row_count });
  });

  it('that cannot be had says why', () => {
    expect(unresolvedPayload('r', 'gone')).toMatchObject({ ref: 'r', resolved: false, checksum: null, error: 'gone' });
    expect(unresolvedPayload(undefined, 'gone')).toMatchObject({
      ref: '',
      error: 'payload reference has no resolvable locator',
    });
  });
});

it('all resolutions are summed up, with a checksum over every row', () => {
  const rows = payloadReferencesOf(state).map((placed) =>
    resolutionRow(placed, placed.reference === 'one' ? resolvedPayload('one', [1]) : unresolvedPayload('two', 'gone')),
  );
  expect(rows[2]).toEqual({
    scope: 'frame',
    frame_id: 'f',
    event_id: 1n,
    reference_summary: { sha256: null, schema_digest: null, row_count: null, media_type: null, ref: null },
    resolution: resolvedPayload('one', [1]),
  });
  expect(resolutionSummary(rows)).toEqual({
    total: 4,
    resolved: 2,
    unresolved: 2,
    unique_refs: 2,
    all_resolved: false,
    checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(resolutionSummary(rows)['checksum']).not.toBe(resolutionSummary(rows.toReversed())['checksum']);
  expect(resolutionSummary([])['checksum']).toBe(
    sha256('{"all_resolved":true,"resolved":0,"rows":[],"total":0,"unique_refs":[],"unresolved":0}'),
  );
});
