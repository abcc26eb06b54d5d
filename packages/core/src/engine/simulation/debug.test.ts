import { it } from 'vitest';
import { randomGraph } from './graphs.js';
import { createRandom } from './random.js';
it('x', () => {
  const g = randomGraph(createRandom(Number(process.env.S)).fork('graph'));
  console.log(JSON.stringify(g.workload), g.acyclic, JSON.stringify(g.playbook.executor));
  for (const p of g.plans) console.log(p.name, p.mode, p.onError, 'fails', p.failures, 'raises', p.raises,'v', p.value, 'guard', p.guard?.source, p.arcs.map((a) => `${a.to} [${a.when?.source}]`).join(' | '));
});
