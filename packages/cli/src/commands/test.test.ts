import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { explainFailure } from '../failure.js';
import { buildProgram } from '../program.js';

const EXAMPLES = fileURLToPath(new URL('../../../../examples/', import.meta.url));

const PLAYBOOK = `apiVersion: noetl.io/v2
kind: Playbook
metadata: { path: team/orders }
workflow:
  - step: start
    tool: { kind: http, url: "http://shop" }
    next:
      arcs:
        - { step: ask, when: "{{ start.total > 100 }}" }
        - { step: pay }
  - step: ask
    tool: { kind: wait, for: 2h }
    next: { arcs: [{ step: pay }] }
  - step: pay
    tool: { kind: noop, result: { paid: "{{ start.total }}" } }
`;
const TESTED = `${PLAYBOOK}tests:
  - name: small orders are paid at once
    mocks: { start: { result: { total: 30 } } }
    expect: { path: [start, pay], result: { paid: 30 } }
  - name: large orders wait
    mocks: { start: { result: { total: 900 } } }
    expect: { path: [start, ask, pay], result: { paid: 800 }, duration: 1h }
`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'noetl-test-command-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

interface Ended {
  code: number | undefined;
  stdout: string;
  stderr: string;
}

/** The command as it is typed: exit code, and what it wrote where. How long the tests took is left out. */
async function run(...args: string[]): Promise<Ended> {
  const ended: Ended = { code: undefined, stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    vi.spyOn(process[stream], 'write').mockImplementation((text) => {
      ended[stream] += String(text);
      return true;
    });
  }
  const program = buildProgram('0', (code) => {
    ended.code = code;
  });
  try {
    await program.parseAsync(['node', 'noetl', 'test', ...args]);
  } catch (error) {
    const { code, message } = explainFailure(error);
    ended.code = code;
    ended.stderr += message;
  }
  vi.restoreAllMocks();
  return { ...ended, stdout: ended.stdout.replaceAll(/[\d.]+ ms/g, '0 ms').replaceAll(folder, '') };
}

describe('noetl test', () => {
  it('shows every test that passed, and what none of them reached', async () => {
    const { code, stdout } = await run(file('orders.yaml', TESTED), '--filter', 'SMALL');
    expect(stdout).toBe('/orders.yaml\n  ✓ small orders are paid at once  0 ms\n\n1 passed, 0 failed\n');
    expect(code).toBe(0);
  });

  it('shows for a failure what was expected, what came, and how it came about', async () => {
    const { code, stdout } = await run(file('orders.yaml', TESTED));
    expect(stdout).toBe(`/orders.yaml
  ✓ small orders are paid at once  0 ms
  ✗ large orders wait  0 ms
      /orders.yaml:20:5   - expected  + actual

      result
        - .paid  800
        + .paid  900
      duration
        - 1h
        + 2h

      timeline
        0s         starts with {}
        0s  start  entered
        0s  start  returned {"total":900}
        0s  start  → ask
        0s  ask    entered
        0s  ask    waits until 2030-01-01T02:00:00.000Z
        2h  ask    returned {"waited_until":"2030-01-01T02:00:00.000Z"}
        2h  ask    → pay
        2h  pay    entered
        2h  pay    returned {"paid":900}
        2h         COMPLETED

  coverage  3 of 3 steps, 3 of 3 arcs

1 passed, 1 failed
`);
    expect(code).toBe(1);
  });

  it('says which steps and arcs no test reaches', async () => {
    const { stdout } = await run(file('orders.yaml', TESTED.slice(0, TESTED.indexOf('  - name: large'))));
    expect(stdout).toContain('coverage  2 of 3 steps, 1 of 3 arcs');
    expect(stdout).toContain('no test reaches step  ask');
    expect(stdout).toContain('no test takes arc     start → ask, ask → pay');
  });

  it('counts how often each was reached with --coverage', async () => {
    const { stdout } = await run(file('orders.yaml', TESTED), '--coverage');
    expect(stdout).toMatch(/line 14 +2× {2}pay\n/);
    expect(stdout).toMatch(/line 9 +1× {2}start → ask\n/);
  });

  it('passes for every example that has tests, in every order', async () => {
    const { code, stdout } = await run(EXAMPLES, '--shuffle');
    expect(stdout).toContain('tested.yaml');
    expect(stdout).toMatch(/\d+ passed, 0 failed\n$/);
    expect(code).toBe(0);
  });

  it('passes for the playbooks of its own documentation', async () => {
    const page = readFileSync(join(EXAMPLES, '../docs/testing.md'), 'utf8');
    const playbooks = [...page.matchAll(/^```yaml\n(apiVersion:[\s\S]*?)^```/gm)].map(({ 1: yaml = '' }) => yaml);
    const files = playbooks.map((yaml, index) => file(`${index}.yaml`, yaml));
    const { code, stdout } = await run(...files);
    expect(stdout).toContain('3 passed, 0 failed');
    expect(code).toBe(0);
  });

  it('finds a playbook that depends on the order of what ends side by side', async () => {
    const racing = `apiVersion: noetl.io/v2
kind: Playbook
metadata: { path: team/race }
workflow:
  - step: start
    tool: { kind: noop }
    next: { spec: { mode: inclusive }, arcs: [{ step: a }, { step: b }] }
  - step: a
    tool: { kind: noop }
    set: { ctx.last: a }
  - step: b
    tool: { kind: noop }
    set: { ctx.last: b }
tests:
  - name: b is last
    expect: { ctx: { last: b } }
`;
    const path = file('race.yaml', racing);
    expect((await run(path)).code).toBe(0);
    const { code, stdout } = await run(path, '--shuffle');
    expect(code).toBe(1);
    const seed = /passes in the usual order, fails in another: run it again with --seed (\d+)/.exec(stdout)?.[1];
    expect((await run(path, '--seed', seed ?? '')).code).toBe(1);
  });

  it('stops at the first failure with --bail', async () => {
    const failing = TESTED.replace('paid: 30', 'paid: 31');
    const { stdout } = await run(file('orders.yaml', failing), '--bail');
    expect(stdout).toMatch(/0 passed, 1 failed\n$/);
  });

  it('writes JSON', async () => {
    const { stdout, code } = await run(file('orders.yaml', TESTED), '-o', 'json');
    const [outcome] = JSON.parse(stdout);
    expect(outcome.tests).toMatchObject([
      { name: 'small orders are paid at once', passed: true },
      { name: 'large orders wait', passed: false, mismatches: [{ check: 'result' }, { check: 'duration' }] },
    ]);
    expect(code).toBe(1);
  });

  it('writes JUnit XML to stdout, or to a file beside the text', async () => {
    const path = file('orders.yaml', TESTED.replace('large orders wait', 'large & <slow>'));
    const report = join(folder, 'report.xml');
    const { stdout } = await run(path, '-o', 'junit', '--junit', report);
    expect(stdout).toContain('tests="2" failures="1"');
    expect(stdout).toContain('name="large &amp; &lt;slow&gt;"');
    expect(readFileSync(report, 'utf8')).toContain('<failure message="result, duration">');
  });

  it('tells every problem of every file before it runs anything', async () => {
    const wrong = file(
      'wrong.yaml',
      TESTED.replace('start: {', 'strat: {').replace('path: [start, ask', 'path: [start, aks'),
    );
    const { code, stdout, stderr } = await run(wrong, file('none.yaml', PLAYBOOK), file('good.yaml', TESTED));
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain('wrong.yaml:18:14: error[test.unknown-step]');
    expect(stderr).toContain('did you mean `start`?');
    expect(stderr).toContain('did you mean `ask`?');
    expect(stderr).toContain('none.yaml:1:1: error[test.none]: This playbook has no tests');
  });

  it('checks the names in the mocks of a playbook that a step runs', async () => {
    file('child.yaml', PLAYBOOK);
    const parent = file(
      'parent.yaml',
      `apiVersion: noetl.io/v2
kind: Playbook
metadata: { path: team/parent }
workflow:
  - step: start
    tool: { kind: playbook, path: team/orders, return_step: pay }
tests:
  - name: runs the child
    playbooks: [child.yaml]
    mocks: { start: { run: true, mocks: { start: { result: { total: 9 } } } } }
    expect: { result: { data: { paid: 9 } } }
`,
    );
    expect((await run(parent)).code).toBe(0);
    const typo = file(
      'typo.yaml',
      readFileSync(parent, 'utf8').replace('mocks: { start: { result', 'mocks: { strat: { result'),
    );
    const { code, stderr } = await run(typo);
    expect(code).toBe(2);
    expect(stderr).toContain("playbook 'team/orders': there is no step 'strat'");
  });

  it('is an error when no test has the name', async () => {
    const { code, stderr } = await run(file('orders.yaml', TESTED), '--filter', 'nothing');
    expect(stderr).toContain('No test has "nothing" in its name');
    expect(code).toBe(2);
  });

  it('is an error when a tool kind does not exist', async () => {
    const { code, stderr } = await run(file('orders.yaml', TESTED), '--real', 'pyton');
    expect(stderr).toContain('"pyton" is not a kind of tool');
    expect(code).toBe(2);
  });

  it('is an error when a file does not exist', async () => {
    const { code, stderr } = await run(join(folder, 'missing.yaml'));
    expect(stderr).toContain('error[file.unreadable]');
    expect(code).toBe(2);
  });
});
