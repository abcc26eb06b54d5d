import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { subscription } from '../../../../test/api/support/subscriptions.js';
import { startTestServer, type TestServer } from '../../../../test/support/server.js';
import { buildProgram } from '../program.js';
import { validatePaths } from './validate.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});

/** The command as it is typed: exit code, and what it wrote where. */
async function run(...args: string[]): Promise<{ code: number | undefined; stdout: string; stderr: string }> {
  let code: number | undefined;
  const written = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    vi.spyOn(process[stream], 'write').mockImplementation((text) => {
      written[stream] += String(text);
      return true;
    });
  }
  try {
    const program = buildProgram('0', (value) => {
      code = value;
    });
    await program.parseAsync(['node', 'noetl', 'subscriptions', ...args, '--server', server.url]);
  } finally {
    vi.restoreAllMocks();
  }
  return { code, ...written };
}

async function registered(path: string): Promise<string> {
  await server.client.register(subscription(path));
  return (await server.client.registerSubscription(path)).subscription_id;
}

describe('noetl validate', () => {
  it('checks documents of subscriptions by their own rules', () => {
    const folder = mkdtempSync(join(tmpdir(), 'noetl-subscriptions-'));
    try {
      const text = subscription('cli/checked').replace('apiVersion: noetl.io/v1\n', '');
      writeFileSync(join(folder, 'good.yaml'), text);
      writeFileSync(join(folder, 'worse.yaml'), text.replace('mode: pull', 'mode: pul'));
      expect(validatePaths([folder])).toMatchObject({
        playbooks: 2,
        problems: [{ file: join(folder, 'worse.yaml'), code: 'subscription.choice', path: 'spec.mode' }],
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('noetl subscriptions', () => {
  it('says that there are none', async () => {
    const { code, stdout, stderr } = await run('list');
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('noetl subscriptions register PATH');
  });

  it('registers a document of the catalog', async () => {
    await server.client.register(subscription('cli/new'));
    const { code, stdout } = await run('register', 'cli/new');
    const { subscriptions } = await server.client.subscriptions({ path: 'cli/new' });
    expect([code, stdout]).toEqual([0, `${subscriptions[0]?.subscription_id}  REGISTERED  cli/new\n`]);
  });

  it('moves one through its life, by path', async () => {
    const id = await registered('cli/life');
    for (const [action, state] of [
      ['activate', 'ACTIVE'],
      ['pause', 'PAUSED'],
      ['resume', 'ACTIVE'],
      ['drain', 'DRAINING'],
      ['deactivate', 'DEACTIVATED'],
    ] as const) {
      expect(await run(action, 'cli/life')).toEqual({ code: 0, stdout: `${id}  ${state}  cli/life\n`, stderr: '' });
    }
  });

  it('means the living one of a path, not one that it replaced', async () => {
    const old = await registered('cli/replaced');
    await run('deactivate', old);
    const fresh = await registered('cli/replaced');
    await run('activate', 'cli/replaced');
    expect((await server.client.subscription(fresh)).state).toBe('ACTIVE');
    expect((await server.client.subscription(old)).state).toBe('DEACTIVATED');
  });

  it.each([['-o', 'json'], ['--json']])('answers as the server does with %s %s', async (...flags) => {
    const id = await registered(`cli/json${flags.length}`);
    const { stdout } = await run('activate', id, ...flags);
    expect(JSON.parse(stdout)).toEqual(await server.client.subscription(id));
  });

  it('lists the living ones, and all on demand', async () => {
    const id = await registered('cli/gone');
    await run('deactivate', id);
    expect((await run('list')).stdout).not.toContain('cli/gone');
    const { stdout } = await run('list', '--all');
    expect(stdout).toMatch(
      new RegExp(`^SUBSCRIPTION +STATE +SINCE +PATH\\n[\\s\\S]*${id} +DEACTIVATED +\\S+ +cli/gone`),
    );
  });

  it('shows one with its events and what may be asked of it', async () => {
    const id = await registered('cli/shown');
    await run('activate', id);
    const { stdout } = await run('show', 'cli/shown');
    expect(stdout).toMatch(/State +ACTIVE/);
    expect(stdout).toMatch(/Possible +activate, pause, resume, drain, deactivate/);
    expect(stdout).toMatch(/1 +\S+Z +subscription.registered +REGISTERED\n2 +\S+Z +subscription.activated +ACTIVE\n$/);
  });

  it('names a path that has none', async () => {
    await expect(run('pause', 'cli/nothing')).rejects.toThrow('There is no subscription of "cli/nothing".');
  });

  it('passes on why the server refuses', async () => {
    const id = await registered('cli/early');
    await expect(run('pause', id)).rejects.toThrow("Cannot 'pause' a subscription in state 'REGISTERED'");
  });
});
