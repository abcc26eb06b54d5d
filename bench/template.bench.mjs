// How many conditions a second the template engine evaluates on a context that also holds 2,000 rows nobody looks at.
import { compileCondition, compileTemplate, scopeOf } from '../packages/core/dist/index.js';

const CONDITION = "{{ workload.items[0].v > 2 and workload.name == 'Bob' }}";
const TEXT = 'Hello {{ workload.name }}, you have {{ workload.items | length }} items';
const SECONDS = 2;

export default async function template({ say }) {
  const rows = Array.from({ length: 2_000 }, (_, id) => ({ id, name: `row ${id}`, tags: ['a', 'b'], nested: { id } }));
  const scope = scopeOf({ rows, workload: { name: 'Bob', items: [{ v: 3 }, { v: 1 }] } });
  const condition = compileCondition(CONDITION);
  const text = compileTemplate(TEXT);
  if (condition.test(scope) !== true) throw new Error('the condition should hold');
  const figures = {
    bench: 'template',
    condition: CONDITION,
    conditions_per_second: perSecond(() => condition.test(scope)),
    texts_per_second: perSecond(() => text.text(scope)),
    compiled_per_second: perSecond(() => compileCondition(CONDITION)),
  };
  say(
    `  ${figures.conditions_per_second.toLocaleString('en')} conditions/s, ${figures.texts_per_second.toLocaleString('en')} texts/s`,
  );
  return figures;
}

function perSecond(work) {
  for (let round = 0; round < 20_000; round++) work();
  const started = performance.now();
  let count = 0;
  while (performance.now() - started < SECONDS * 1000) for (let round = 0; round < 1_000; round++, count++) work();
  return Math.round(count / ((performance.now() - started) / 1000));
}
