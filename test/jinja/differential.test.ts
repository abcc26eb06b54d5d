// The same templates through Debian's Jinja2 and through ours. Whatever differs is either a row of intended.ts, and then of
// docs/templates.md, or a defect.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Case, gaveUp, loneExpression, ours, same } from './compare.js';
import { corpusCases } from './corpus.js';
import { handWritten } from './examples.js';
import { CONTEXT, generateExpressions } from './generate.js';
import { DIALECTS, type Difference, INTENDED, LIMITED } from './intended.js';
import { type Jinja, type Question, requireJinja, startJinja } from './jinja.js';

const SEED = Number(process.env['NOETL_JINJA_SEED'] ?? 20260102);
const GENERATED = 5_000;
const page = readFileSync(fileURLToPath(new URL('../../docs/templates.md', import.meta.url)), 'utf8');

let jinja: Jinja;
beforeAll(() => {
  requireJinja();
  jinja = startJinja();
}, 300_000);
afterAll(() => jinja?.stop());

function questionOf({ template, mode, context }: Case): Question {
  const expression = mode === 'value' ? loneExpression(template) : undefined;
  return expression === undefined ? { template, context } : { expression, context };
}

interface Comparison {
  /** Ids of the intended differences that were met. */
  readonly met: ReadonlySet<string>;
  readonly unexplained: readonly Difference[];
  /** What Jinja2 could not finish and we refuse as well; what we answer nevertheless is unexplained. */
  readonly givenUp: readonly Difference[];
}

async function compare(cases: readonly Case[]): Promise<Comparison> {
  const answers = await jinja.ask(cases.map(questionOf));
  const met = new Set<string>();
  const all = cases.flatMap((one, index): Difference[] => {
    const [mine, theirs] = [ours(one), answers[index]];
    if (theirs === undefined) return [];
    return [{ ...one, ours: mine, jinja: theirs, imitated: theirs }];
  });
  const unfinished = all.filter(({ jinja: theirs }) => gaveUp(theirs));
  let open = all.filter(({ ours: mine, jinja: theirs }) => !gaveUp(theirs) && !same(mine, theirs));
  // A difference is explained by one rule if possible, else by the rules together.
  for (const { id, dialect } of INTENDED) {
    if (dialect === undefined) continue;
    const before = open.length;
    open = await unlike(open, [dialect]);
    if (open.length < before) met.add(id);
  }
  open = await unlike(open, DIALECTS);
  const unexplained = open.filter((difference) => {
    const row = INTENDED.find(({ explains }) => explains?.(difference));
    if (row) met.add(row.id);
    return row === undefined;
  });
  const [givenUp, answered] = [
    unfinished.filter(({ ours: mine }) => !mine.ok),
    unfinished.filter((one) => one.ours.ok),
  ];
  return { met, unexplained: [...unexplained, ...answered], givenUp };
}

/** The differences that remain when Jinja2 follows these rules. */
async function unlike(open: readonly Difference[], dialect: readonly string[]): Promise<Difference[]> {
  const imitations = await jinja.ask(open.map((one) => ({ ...questionOf(one), dialect })));
  return open.flatMap((one, index) => {
    const imitated = imitations[index] ?? one.imitated;
    return !gaveUp(imitated) && same(one.ours, imitated) ? [] : [{ ...one, imitated }];
  });
}

/** One readable line a difference: template, context, both answers, seed. */
function lines(differences: readonly Difference[]): string[] {
  return differences.map(({ template, mode, context, ours: mine, jinja: theirs }) => {
    const data = context === CONTEXT ? 'CONTEXT' : text(context);
    return `${mode} of ${text(template)} in ${data}: ours ${text(mine)}, Jinja2 ${text(theirs)} (seed ${SEED})`;
  });
}

function text(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part));
}

describe('compared with Jinja2', () => {
  it('hand-written templates differ only where it is intended, and meet every intended difference', async () => {
    const { met, unexplained } = await compare(handWritten());
    expect(lines(unexplained)).toEqual([]);
    expect(INTENDED.map(({ id }) => id).filter((id) => !met.has(id))).toEqual([]);
  });

  it('templates of real playbooks differ only where it is intended', async () => {
    const { unexplained } = await compare(corpusCases());
    expect(lines(unexplained)).toEqual([]);
  });

  it(`generated expressions differ only where it is intended (NOETL_JINJA_SEED=${SEED})`, async () => {
    const cases = generateExpressions(SEED, GENERATED).map((expression, index): Case => {
      // Every fourth one as text: printing is where most differences are.
      if (index % 4 === 0) return { template: `[{{ ${expression} }}]`, mode: 'text', context: CONTEXT };
      return { template: `{{ ${expression} }}`, mode: 'value', context: CONTEXT };
    });
    expect(cases).toHaveLength(GENERATED);
    const { unexplained, givenUp } = await compare(cases);
    for (const line of lines(givenUp)) console.info(`given up by Jinja2: ${line}`);
    expect(lines(unexplained)).toEqual([]);
  });

  it.each([
    ['a number', '{{ n ** (n ** n) }}'],
    ['a text', "{{ n ** 11 * 'x' }}"],
  ])('%s that grows without bound is given up by Jinja2 and refused by us', async (_, template) => {
    const { givenUp, unexplained } = await compare([{ template, mode: 'value', context: { n: 9 } }]);
    expect(unexplained).toEqual([]);
    expect(givenUp.map(({ ours: mine }) => mine)).toEqual([{ ok: false, error: expect.stringMatching(LIMITED) }]);
  });

  it('answers the next question after one it gave up', async () => {
    const answers = await jinja.ask([
      { expression: '9 ** (9 ** 9)', context: {} },
      { expression: '1 + 1', context: {} },
    ]);
    expect(answers).toMatchObject([
      { ok: false, gaveUp: true },
      { ok: true, value: 2 },
    ]);
  });

  it('finds a difference that nobody intended', async () => {
    const [theirs] = await jinja.ask([{ expression: "'abc' | upper", context: {} }]);
    expect(theirs).toEqual({ ok: true, value: 'ABC' });
    expect(same({ ok: true, value: 'abc' }, { ok: true, value: 'ABC' })).toBe(false);
    expect(same({ ok: true, value: null }, { ok: false, error: 'x' })).toBe(false);
  });
});

describe('the hand-written templates', () => {
  const section = (title: string) => page.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
  const words = (title: string) => [...section(title).matchAll(/`(\w+)(?:\([^`]*\))?`/g)].map(([, word = '']) => word);
  const written = handWritten()
    .map(({ template }) => template)
    .join('\n');

  it.each([
    ['Filters', (name: string) => new RegExp(`\\|\\s*${name}\\b|filter ${name}\\b`)],
    ['Tests', (name: string) => new RegExp(`\\bis (?:not )?${name}\\b`)],
    ['Functions and methods', (name: string) => new RegExp(`\\b${name}\\(`)],
  ])('use everything that docs/templates.md lists: %s', (title, use) => {
    // Refused methods and names of arguments are mentioned there, too.
    const names = words(title).filter((name) => !['append', 'update', 'attribute', 'x'].includes(name));
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => !use(name).test(written))).toEqual([]);
  });
});

describe('an intended difference', () => {
  const listed = [...page.matchAll(/<a id="differs-([\w-]+)"><\/a>/g)].map(([, id]) => id);

  it('has its row in docs/templates.md, and every row there is one', () => {
    expect(listed).toEqual(INTENDED.map(({ id }) => id));
  });
});
