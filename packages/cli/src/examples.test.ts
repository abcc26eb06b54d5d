import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { checkPlaybook } from '@noetl/core';
import { describe, expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../../../examples/', import.meta.url));
const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));

describe('the examples', () => {
  it('are there', () => {
    expect(files).toContain('hello_world.yaml');
  });

  it.each(files)('%s validates without a warning', (file) => {
    expect(checkPlaybook(readFileSync(folder + file, 'utf8')).diagnostics).toEqual([]);
  });

  it.each(files)('%s is registered under the path its name promises', (file) => {
    const { playbook } = checkPlaybook(readFileSync(folder + file, 'utf8'));
    expect(playbook?.metadata.path).toBe(`examples/${file.replace('.yaml', '')}`);
  });
});
