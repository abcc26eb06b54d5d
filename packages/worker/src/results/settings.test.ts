import type { LeasedCommand } from '@noetl/client';
import type { Json, JsonObject } from '@noetl/core';
import { describe, expect, it } from 'vitest';
import { outputSettings } from './settings.js';

function settings(output?: JsonObject, tool_config: Json = {}) {
  const command: LeasedCommand = {
    execution_id: '1',
    event_id: '2',
    command_id: 'c',
    step: 's',
    tool_kind: 'noop',
    attempt: 1,
    max_attempts: 3,
    claim_token: 1,
    lease_ms: 1,
    context: { tool_config, args: {}, render_context: {} },
    meta: output === undefined ? {} : { output },
  };
  return outputSettings(command);
}

it('without a word of the author: 64 KiB inline, 1 KiB of preview, for the execution', () => {
  expect(settings()).toEqual({
    inlineMaxBytes: 65_536,
    previewMaxBytes: 1_024,
    select: [],
    scope: 'execution',
    ttl: null,
  });
});

it('the author decides', () => {
  const output = {
    inline_max_bytes: 100,
    preview_max_bytes: '50',
    scope: 'workflow',
    store: { kind: 'kv', ttl: '1h' },
  };
  expect(settings(output)).toMatchObject({ inlineMaxBytes: 100, previewMaxBytes: 50, scope: 'workflow', ttl: '1h' });
});

it.each([-1, 'many', null, true, {}])('a size of %j is ignored', (inline_max_bytes) => {
  expect(settings({ inline_max_bytes }).inlineMaxBytes).toBe(65_536);
});

it('nobody can put more into an event than a report can carry', () => {
  expect(settings({ inline_max_bytes: 1e12 }).inlineMaxBytes).toBe(16 * 1024 * 1024);
});

it('the step wins over its tools, and the fields of all of them stay', () => {
  const tasks = [{ first: { output: { inline_max_bytes: 5, output_select: ['a'] } } }, { second: { kind: 'noop' } }];
  const { inlineMaxBytes, select } = settings({ inline_max_bytes: 10, output_select: ['b'] }, tasks);
  expect(inlineMaxBytes).toBe(10);
  expect(select.map(({ as }) => as)).toEqual(['b', 'a']);
  expect(settings(undefined, tasks).inlineMaxBytes).toBe(5);
});

describe('a selected field', () => {
  it.each<[Json, readonly string[], string]>([
    ['total', ['total'], 'total'],
    ['meta.total', ['meta', 'total'], 'total'],
    ['$.rows[0].id', ['rows', '0', 'id'], 'id'],
    ["$['a b'].c", ['a b', 'c'], 'c'],
    [{ path: '$.meta.total', as: 'sum' }, ['meta', 'total'], 'sum'],
    [{ path: 'meta' }, ['meta'], 'meta'],
  ])('%j', (written, path, as) => {
    expect(settings({ output_select: [written] }).select).toEqual([{ path, as }]);
    expect(settings({ select: [written] }).select).toEqual([{ path, as }]);
  });

  it.each([7, null, '', {}, { as: 'x' }])('%j selects nothing that could be found', (written) => {
    expect(settings({ select: [written] }).select.filter(({ path }) => path.length > 0)).toEqual([]);
  });
});
