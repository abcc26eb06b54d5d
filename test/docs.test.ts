// Playbooks in the documentation and in examples/ are promises: each must validate, without a warning.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { checkDocument, formatDiagnostic } from '../packages/core/src/index.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const pages = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith('.md'),
);
const examples = readdirSync(join(ROOT, 'examples')).map((name) => `examples/${name}`);

const documented = pages.flatMap((page) => {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```yaml\n(apiVersion:[\s\S]*?)^```/gm)].map(({ 1: yaml = '', index }) => ({
    name: `${page}:${text.slice(0, index).split('\n').length}`,
    yaml,
  }));
});
const shipped = examples.map((name) => ({ name, yaml: readFileSync(join(ROOT, name), 'utf8') }));

describe('a playbook that we show', () => {
  it('is there to be checked', () => {
    expect(documented.length).toBeGreaterThan(3);
    expect(shipped.length).toBeGreaterThan(3);
  });

  it.each([...documented, ...shipped])('validates: $name', ({ name, yaml }) => {
    expect(checkDocument(yaml).diagnostics.map((diagnostic) => formatDiagnostic(diagnostic, name))).toEqual([]);
  });
});
