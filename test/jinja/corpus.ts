// The templates of real playbooks, and contexts for them: nothing at all, and data in the shape that the template reads.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { isTemplate } from '../../packages/core/src/template/index.js';
import { type Case, loneExpression } from './compare.js';

const FOLDER = fileURLToPath(new URL('../../../shared/corpus/playbooks', import.meta.url));

/** Stands in for the corpus where it is not at hand. */
const TYPICAL = [
  "{{ output.status == 'error' and output.error.retryable }}",
  '{{ ctx.page | default(1) | int + 1 }}',
  '{{ (ctx.rows | default([])) + [output.data] }}',
  `INSERT INTO t VALUES ('{{ iter.detail | tojson | replace("'", "''") }}'::jsonb, {{ iter.n }});\n`,
  "{{ 'passed' if result.ok is defined and result.ok else 'failed' }}",
];

/** Shell code with a Go template inside is not Jinja. */
const isGoTemplate = (text: string) => /\{\{\s*(?:`|\.[A-Za-z])/.test(text);

function templatesIn(value: unknown): string[] {
  if (typeof value === 'string') return isTemplate(value) && !isGoTemplate(value) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap(templatesIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => [...templatesIn(key), ...templatesIn(part)]);
}

function sources(): string[] {
  if (!existsSync(FOLDER)) return TYPICAL;
  const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.yaml'));
  const found = files.flatMap((name) =>
    parseAllDocuments(readFileSync(join(FOLDER, name), 'utf8')).flatMap((document) => templatesIn(document.toJS())),
  );
  return [...new Set([...TYPICAL, ...found])];
}

/** Values for the ends of paths; by turns, so that each template meets several kinds. */
const VALUES: readonly unknown[] = [
  3,
  'text',
  true,
  [1, 'b'],
  { k: 'v', n: 1 },
  2.5,
  '7',
  '',
  false,
  [{ id: 1 }],
  null,
];
const METHODS =
  /\.(?:items|keys|values|get|append|upper|lower|strip|split|replace|join|startswith|endswith|title)\b.*$/;

/** A context in which every path of the template leads somewhere. */
function contextFor(template: string, turn: number): Record<string, unknown> {
  const code = [...template.matchAll(/\{[{%]([\s\S]*?)[}%]\}/g)].map(([, inside = '']) => inside).join(' ');
  const paths = code.replace(/'[^']*'|"[^"]*"/g, "''").match(/(?<![.\w|])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*/g) ?? [];
  const context: Record<string, unknown> = {};
  for (const [index, path] of paths.entries()) {
    const steps = path.replace(METHODS, '').split('.');
    let at = context;
    for (const step of steps.slice(0, -1)) {
      const next = at[step];
      at = at[step] = typeof next === 'object' && next !== null && !Array.isArray(next) ? { ...next } : {};
    }
    const end = steps.at(-1) ?? '';
    if (!(end in at)) at[end] = VALUES[(index + turn) % VALUES.length];
  }
  // Names of the language stay what they are.
  for (const name of ['range', 'dict', 'namespace', 'now', 'loop', 'self']) delete context[name];
  return context;
}

export function corpusCases(): Case[] {
  return sources().flatMap((template) => {
    const mode = loneExpression(template) === undefined ? 'text' : 'value';
    const contexts = [{}, ...[0, 1, 2, 3].map((turn) => contextFor(template, turn))];
    return contexts.map((context): Case => ({ template, mode, context }));
  });
}
