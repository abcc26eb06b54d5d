// One seed: a random playbook, run under several interleavings, checked after every fact and at its end.

import type { JsonObject } from '../../json/types.js';
import { type CompiledPlaybook, compilePlaybook } from '../compile.js';
import { assertReplays, CATALOG, type Cluster, createCluster } from './cluster.js';
import { createCrew } from './crew.js';
import { type RandomGraph, randomGraph } from './graphs.js';
import { checkLog } from './invariants.js';
import { expectedOf } from './oracle.js';
import { createRandom, type Random } from './random.js';
import { itemOf } from './rows.js';
import { checkWork } from './work-invariants.js';

export interface Tally {
  runs: number;
  events: number;
  completed: number;
  failed: number;
  cancelled: number;
  acyclic: number;
  loops: number;
  items: number;
}

/** More facts than this means that a run does not end. */
const MAX_FACTS = 4_000;
const INTERLEAVINGS = 2;

export function simulateSeed(seed: number, tally: Tally): void {
  const random = createRandom(seed);
  const graph = randomGraph(random.fork('graph'));
  if (graph.acyclic) tally.acyclic++;
  const compiled = compilePlaybook(graph.playbook);
  const expected = graph.acyclic ? expectedOf(graph) : undefined;
  const calmRuns = graph.acyclic ? INTERLEAVINGS : 1;
  for (let run = 0; run <= calmRuns; run++) {
    const harsh = run === calmRuns;
    const cluster = simulate(graph, compiled, random.fork(`run ${run}`), harsh);
    count(tally, cluster);
    if (harsh || expected === undefined) continue;
    const { status } = cluster.folded;
    if (status !== expected.status) throw new Error(`interleaving ${run} ended ${status}, must end ${expected.status}`);
    if (status !== 'COMPLETED') continue;
    const entered = namesOf(
      cluster.log.filter((row) => row.event_type === 'step.enter' && isOurs(row.meta)).map((row) => row.node_name),
    );
    const wanted = namesOf([...expected.entered]);
    if (entered !== wanted) throw new Error(`interleaving ${run} entered ${entered}, must enter ${wanted}`);
  }
}

function simulate(graph: RandomGraph, compiled: CompiledPlaybook, random: Random, harsh: boolean): Cluster {
  const cluster = createCluster({
    compiled,
    random: random.fork('cluster'),
    crash: random.pick([0, 0.02, 0.1]),
  });
  const crew = createCrew(cluster, graph, random.fork('crew'), harsh);
  const payload: JsonObject = { ...graph.workload, list: [...graph.workload.list] };
  const start = {
    type: 'start',
    path: graph.playbook.metadata.path,
    catalogId: CATALOG,
    payload,
    pool: 'shared',
    parentExecutionId: null,
    parentEventId: null,
    trace: null,
  } as const;
  while (cluster.folded.status === 'PENDING') cluster.submit(start);
  for (let facts = 0; cluster.folded.status === 'RUNNING'; facts++) {
    if (facts > MAX_FACTS) throw new Error(`no end after ${MAX_FACTS} facts`);
    if (!crew.act()) throw new Error(`stuck: ${JSON.stringify(cluster.folded)}`);
  }
  crew.disperse();
  checkLog(graph, cluster.log);
  checkWork(graph, cluster.log);
  assertReplays(
    cluster.log,
    cluster.folded,
    [1, 2, 3].map(() => random.between(0, cluster.log.length)),
  );
  return cluster;
}

function count(tally: Tally, cluster: Cluster): void {
  tally.runs++;
  tally.events += cluster.log.length;
  for (const row of cluster.log) {
    if (row.event_type === 'loop.done' && isOurs(row.meta)) tally.loops++;
    if (itemOf(row) !== undefined) tally.items++;
  }
  const { status } = cluster.folded;
  if (status === 'COMPLETED') tally.completed++;
  else if (status === 'FAILED') tally.failed++;
  else tally.cancelled++;
}

const isOurs = (meta: unknown) => (meta as { external?: boolean } | null)?.external !== true;
const namesOf = (names: readonly (string | null)[]) => [...names].sort().join(' ');
