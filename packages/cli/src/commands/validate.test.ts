import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { buildProgram } from '../program.js';
import { validatePaths } from './validate.js';

const GOOD = `apiVersion: noetl.io/v2
kind: Playbook
metadata: { path: a/good }
workflow:
  - step: start
    tool: { kind: noop }
`;
const BAD = GOOD.replace('noop', 'nop').replace('workflow:', 'workflow: # two problems').concat('    next: strat\n');
const WARNED = `vars: { a: 1 }\n${GOOD}`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'noetl-validate-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

function file(name: string, text: string): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

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
  const program = buildProgram('0', (value) => {
    code = value;
  });
  await program.parseAsync(['node', 'noetl', 'validate', ...args]);
  vi.restoreAllMocks();
  return { code, ...written };
}

describe('noetl validate', () => {
  it('is silent about a good playbook', async () => {
    expect(await run(file('good.yaml', GOOD))).toEqual({
      code: 0,
      stdout: '',
      stderr: '1 playbook, 0 errors, 0 warnings\n',
    });
  });

  it('tells every problem of every file and ends with 2', async () => {
    const bad = file('bad.yaml', BAD);
    const missing = join(folder, 'missing.yaml');
    const { code, stdout, stderr } = await run(missing, bad, file('good.yaml', GOOD));
    expect(code).toBe(2);
    expect(stdout.split('\n').filter((line) => line.startsWith(folder))).toEqual([
      expect.stringContaining(`${missing}:1:1: error[file.unreadable]: ENOENT`),
      expect.stringContaining(`${bad}:6:19: error[tool.unknown-kind]: `),
      expect.stringContaining(`${bad}:7:11: error[step.unknown-target]: `),
    ]);
    expect(stderr).toBe('2 playbooks, 3 errors, 0 warnings\n');
  });

  it('ends with 0 when there are only warnings', async () => {
    const { code, stderr } = await run(file('warned.yaml', WARNED));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '1 playbook, 0 errors, 1 warning\n' });
  });

  it('writes annotations for GitHub, one line each', async () => {
    const bad = file('a,b.yaml', BAD);
    const { code, stdout } = await run('-o', 'github', bad, file('warned.yaml', WARNED));
    expect(code).toBe(2);
    expect(stdout.trimEnd().split('\n')).toEqual([
      `::error file=${bad.replace(',', '%2C')},line=6,col=19,title=tool.unknown-kind::Step 'start': unknown tool kind 'nop'%0Adid you mean \`noop\`?`,
      expect.stringMatching(/^::error file=.*,line=7,col=11,title=step.unknown-target::/),
      expect.stringMatching(/^::warning file=.*warned.yaml,line=1,col=1,title=playbook.legacy-vars::/),
    ]);
  });

  it('lets no text of a playbook end an annotation', async () => {
    const evil = GOOD.replace('noop', '"x\\n::error::forged %0A"');
    const { stdout } = await run('-o', 'github', file('evil.yaml', evil));
    expect(stdout).toContain('x%0A::error::forged %250A');
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  });

  it('writes one JSON array', async () => {
    const bad = file('bad.yaml', BAD);
    const { stdout } = await run('-o', 'json', bad);
    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({ file: bad, severity: 'error', code: 'tool.unknown-kind', line: 6, column: 19 }),
      expect.objectContaining({ file: bad, severity: 'error', code: 'step.unknown-target', line: 7, column: 11 }),
    ]);
  });

  it('writes an empty JSON array when nothing is wrong', async () => {
    expect((await run('-o', 'json', file('good.yaml', GOOD))).stdout).toBe('[]\n');
  });
});

describe('a directory', () => {
  it('is walked, in the order of names, for YAML that says it is a playbook', () => {
    file('b/bad.yml', BAD);
    file('a.yaml', BAD);
    file('values.yaml', 'replicas: 1\n');
    file('notes.txt', BAD);
    const { playbooks, problems } = validatePaths([folder]);
    expect(playbooks).toBe(2);
    expect([...new Set(problems.map((problem) => problem.file))]).toEqual([
      join(folder, 'a.yaml'),
      join(folder, 'b/bad.yml'),
    ]);
  });

  it('counts a playbook that lost its apiVersion or its kind', () => {
    file('a.yaml', GOOD.replace(/^apiVersion.*\n/, ''));
    file('b.yaml', GOOD.replace(/^kind.*\n/m, ''));
    expect(validatePaths([folder]).problems.map(({ code }) => code)).toEqual(['playbook.api-version', 'playbook.kind']);
  });

  it('is left alone where it is hidden or holds packages', () => {
    file('good.yaml', GOOD);
    for (const hidden of ['.git', 'node_modules']) file(`${hidden}/bad.yaml`, BAD);
    expect(validatePaths([folder])).toEqual({ playbooks: 1, problems: [] });
  });

  it('without a playbook is an error', () => {
    expect(validatePaths([folder]).problems).toMatchObject([{ file: folder, code: 'file.no-playbook' }]);
  });

  it('may hold a file that cannot be read; the others are still checked', () => {
    symlinkSync(join(folder, 'nowhere'), join(folder, 'a.yaml'));
    file('bad.yaml', BAD);
    expect(validatePaths([folder]).problems.map(({ code }) => code)).toEqual([
      'file.unreadable',
      'tool.unknown-kind',
      'step.unknown-target',
    ]);
  });

  it('does not lead in circles through a link', () => {
    file('good.yaml', GOOD);
    symlinkSync(folder, join(folder, 'loop'));
    expect(validatePaths([folder]).playbooks).toBe(1);
  });
});

it('checks a file once, however often it is named', () => {
  const bad = file('bad.yaml', BAD);
  expect(validatePaths([bad, bad, folder])).toMatchObject({ playbooks: 1, problems: { length: 2 } });
});

it('checks a file that is named even when it does not look like a playbook', () => {
  const { problems } = validatePaths([file('values.txt', 'replicas: 1\n')]);
  expect(problems.length).toBeGreaterThan(0);
});
