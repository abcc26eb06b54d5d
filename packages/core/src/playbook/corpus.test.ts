// Playbooks that none of us wrote: everything in the shared corpus must parse.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from './diagnostics.js';
import { parsePlaybook } from './parse.js';

const corpus = fileURLToPath(new URL('../../../../../shared/corpus/playbooks', import.meta.url));
const files = existsSync(corpus)
  ? readdirSync(corpus, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.yaml'))
      .map((name) => join(corpus, name))
  : [];

describe.skipIf(files.length === 0)('the shared corpus', () => {
  it.each(files.map((file) => [relative(corpus, file), file]))('%s parses without an error', (name, file) => {
    const { playbook, diagnostics } = parsePlaybook(readFileSync(file, 'utf8'));

    expect(diagnostics.filter((d) => d.severity === 'error').map((d) => formatDiagnostic(d, name))).toEqual([]);
    expect(playbook?.steps.length).toBeGreaterThan(0);
  });
});
