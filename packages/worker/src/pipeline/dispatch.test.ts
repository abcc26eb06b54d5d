import type { LeasedCommand } from '@noetl/client';
import type { Json, JsonObject } from '@noetl/core';
import { expect, it } from 'vitest';
import { controlPlane } from '../control-plane.fixture.js';
import { dispatch } from '../dispatch.js';
import { silentLog } from '../log.js';
import { createResultStore } from '../results/index.js';
import { builtinTools, toolRegistry } from '../tools/index.js';
import { noop } from './sequence.fixture.js';

function command(tool_config: Json, meta: JsonObject = {}): LeasedCommand {
  return {
    execution_id: '325000000000000001',
    event_id: '325000000000000002',
    command_id: 'cmd-1',
    step: 'work',
    tool_kind: 'task_sequence',
    attempt: 1,
    max_attempts: 3,
    claim_token: 1,
    lease_ms: 30_000,
    context: { tool_config, args: { n: 1 }, render_context: { workload: { m: 2 } } },
    meta,
  };
}

const { api } = controlPlane();
const workshop = {
  tools: toolRegistry(builtinTools()),
  store: createResultStore(api, silentLog),
  executions: api,
  log: silentLog,
};
const tasks = [{ sum: noop('{{ n + workload.m }}') }];
const go = (leased: LeasedCommand) => dispatch(leased, workshop, new AbortController().signal);

it('a command with a list of tasks runs in a worker with its usual tools', async () => {
  const outcome = await go(command(tasks));
  expect(outcome).toMatchObject({ type: 'returned', result: { data: { sum: 3, _pipeline: ['sum'] } } });
});

it('a command that the engine marked as a single tool answers without the label', async () => {
  expect(await go(command(tasks, { single: true }))).toMatchObject({ type: 'returned', result: { data: 3 } });
});

it('a command in the wire form of another server is read too', async () => {
  const outcome = await go(command({ tasks: [{ name: 'sum', ...noop('{{ n }}') }] }));
  expect(outcome).toMatchObject({ type: 'returned', result: { data: { sum: 1 } } });
});
