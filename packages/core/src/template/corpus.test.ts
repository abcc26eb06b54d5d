// Templates that people really wrote. The corpus is data outside of the product's tree; without it a few of its
// kinds stand in.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { compileTemplate, isTemplate, TemplateError } from './index.js';

const folder = new URL('../../../../../shared/corpus/playbooks', import.meta.url).pathname;

const TYPICAL = [
  "{{ output.status == 'error' and output.error.retryable }}",
  "{{ event.name == 'loop.done' }}",
  '{{ ctx.page | default(1) | int + 1 }}',
  '{{ (ctx.rows | default([])) + [output.data] }}',
  '{{ start.command_0.rows[0].total | default(0) }}',
  `INSERT INTO t VALUES ('{{ iter.detail | tojson | replace("'", "''") }}'::jsonb, {{ iter.n }});\n`,
  "{% if workload.debug %}{{ {'a': 1, 'b': {'c': execution_id}} | tojson }}{% endif %}",
  "{{ 'passed' if result.ok is defined and result.ok else 'failed' }}",
];

/** Shell code with a Go template between backticks is not Jinja, and says so. */
const isGoTemplate = (text: string) => /\{\{\s*(?:`|\.[A-Za-z])/.test(text);

function templatesIn(value: unknown): string[] {
  if (typeof value === 'string') return isTemplate(value) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap(templatesIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => [...templatesIn(key), ...templatesIn(part)]);
}

function corpus(): string[] {
  if (!existsSync(folder)) return TYPICAL;
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.yaml'));
  return files.flatMap((name) =>
    parseAllDocuments(readFileSync(join(folder, name), 'utf8')).flatMap((document) => templatesIn(document.toJS())),
  );
}

describe('real playbooks', () => {
  it('use only templates that compile', () => {
    const templates = [...new Set([...TYPICAL, ...corpus()])];
    const refused = templates.filter((source) => {
      try {
        compileTemplate(source);
        return false;
      } catch (error) {
        if (error instanceof TemplateError) return !isGoTemplate(source);
        throw error;
      }
    });
    expect(refused).toEqual([]);
    expect(templates.length).toBeGreaterThanOrEqual(TYPICAL.length);
  });
});
