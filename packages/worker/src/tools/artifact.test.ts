import type { Json } from '@noetl/core';
import { describe, expect, it } from 'vitest';
import { controlPlane } from '../control-plane.fixture.js';
import { silentLog } from '../log.js';
import { createResultAccess, createResultStore } from '../results/index.js';
import { artifactTool } from './artifact.js';
import { toolCall } from './tool-call.fixture.js';

const REF = 'noetl://execution/325/result/fetch/1';

function given(contents: Record<string, Json> = {}) {
  const plane = controlPlane();
  for (const [ref, content] of Object.entries(contents)) plane.stored.set(ref, content);
  const store = createResultStore(plane.api, silentLog);
  const { signal } = new AbortController();
  const results = createResultAccess(store, { execution_id: '325', step: 'save' }, signal);
  const run = async (config: Record<string, Json>, input: Record<string, Json> = {}) =>
    artifactTool.run(toolCall({ kind: 'artifact', ...config }, { input, results, step: 'save' }));
  return { plane, run };
}

describe('get', () => {
  it.each<[string, Record<string, Json>, Record<string, Json>]>([
    ['result_ref', {}, { result_ref: REF }],
    ['ref', { action: 'get' }, { ref: REF }],
    ['a whole reference', {}, { result_ref: { _ref: REF, count: 1 } }],
    ['what an event says about the reference', {}, { result_ref: { kind: 'result_ref', ref: REF } }],
    ['a field of the tool', { result_ref: REF }, {}],
  ])('takes %s', async (_, config, input) => {
    const { run } = given({ [REF]: { rows: [1] } });
    expect(await run(config, input)).toEqual({ status: 'success', data: { rows: [1] } });
  });

  it('shows the fields of a list of tools beside their labels', async () => {
    const stored = { make: { rows: [1], n: 1 }, check: { n: 2 }, _pipeline: ['make', 'check'] };
    const { run } = given({ [REF]: stored });
    const { data } = await run({}, { result_ref: REF });
    expect(data).toEqual({ rows: [1], n: 2, make: { rows: [1], n: 1 }, check: { n: 2 } });
  });

  it('fails when the result is gone, in words that a policy can test', async () => {
    await expect(given().run({}, { result_ref: REF })).rejects.toMatchObject({ info: { kind: 'missing_reference' } });
  });

  it.each<[Record<string, Json>, string]>([
    [{}, 'result_ref is required'],
    [{ result_ref: null }, 'result_ref is required'],
    [{ result_ref: 7 }, 'result_ref is required'],
    [{ result_ref: 's3://bucket/key' }, 'does not lead into the result store'],
  ])('refuses %j', async (input, message) => {
    await expect(given().run({}, input)).rejects.toThrow(message);
  });
});

describe('put', () => {
  it('stores under the name of the step, unless another is given', async () => {
    const { plane, run } = given();
    const { data } = await run({ action: 'put' }, { data: { total: 7 } });
    expect(data).toMatchObject({ ref: 'noetl://execution/325/result/save/1', scope: 'execution' });
    expect(plane.stored.get('noetl://execution/325/result/save/1')).toEqual({ total: 7 });
    expect((await run({ action: 'put' }, { data: 1, name: 'report' })).data).toMatchObject({
      ref: 'noetl://execution/325/result/report/2',
    });
  });

  it('says how long and for whom', async () => {
    const { plane, run } = given();
    await run({ action: 'put', scope: 'workflow' }, { data: 1, ttl: '1h' });
    expect(plane.calls.at(-1)?.request).toMatchObject({ scope: 'workflow', ttl: '1h', source_step: 'save' });
  });

  it('stores the value that a reference stands for', async () => {
    const { plane, run } = given({ [REF]: { rows: [1] } });
    const { data } = await run({ action: 'put' }, { data: { all: { _ref: REF } } });
    expect(plane.stored.get(String((data as { ref: string }).ref))).toEqual({ all: { rows: [1] } });
  });

  it('needs something to store', async () => {
    await expect(given().run({ action: 'put' }, {})).rejects.toThrow('data is required');
  });
});

it('knows no other action', async () => {
  await expect(given().run({ action: 'move' }, {})).rejects.toThrow("not 'move'");
});
