// One seed: a random playbook with the children it starts, run under several interleavings, forked when it has ended, and checked after
// every fact and at its end.
import type { JsonObject } from '../../json/types.js';
import { assertReplays, EXECUTION } from './cluster.js';
import { checkCursors } from './cursor-invariants.js';
import { checkFamily } from './family-invariants.js';
import { playFork } from './forks.js';
import { randomGraph } from './graphs.js';
import { checkLog } from './invariants.js';
import { expectedOf } from './oracle.js';
import { createRandom, type Random } from './random.js';
import { detailOf, metaOf, moves, objectOf } from './rows.js';
import { type Actor, catalogOf, createClock, createStage, type StageOptions, startOf } from './stage.js';
import { count, type Tally } from './tally.js';
import { checkWaits } from './wait-invariants.js';
import { checkWork } from './work-invariants.js';

export function simulateSeed(seed: number, tally: Tally): void {
  const random = createRandom(seed);
  const graph = randomGraph(random.fork('graph'));
  const catalog = catalogOf(graph);
  const expected = graph.acyclic ? expectedOf(graph) : undefined;
  for (const harsh of [false, true]) {
    const luck = random.fork(harsh ? 'harsh' : 'calm');
    const options: StageOptions = {
      graph,
      catalog,
      random: luck,
      manners: { harsh, healed: false },
      clock: createClock(),
    };
    const [root, ...others] = play(options);
    if (root === undefined) throw new Error('nobody played');
    for (const actor of [root, ...others]) verify(actor, luck, tally);
    checkFamily([root, ...others]);
    if (!harsh && expected !== undefined) checkOutcome(root, expected);
    const forked = luck.chance(0.4) ? playFork({ ...options, random: luck.fork('fork') }, root, tally) : [];
    for (const actor of forked) verify(actor, luck, tally);
    checkFamily(forked);
  }
}

function play(options: StageOptions): readonly Actor[] {
  const { graph } = options;
  const stage = createStage(options);
  const payload: JsonObject = { ...graph.workload, list: [...graph.workload.list] };
  stage.open(EXECUTION, startOf(graph, payload));
  return stage.play();
}

function verify({ graph, cluster, crew, manners }: Actor, random: Random, tally: Tally): void {
  crew.disperse();
  checkLog(graph, cluster.log);
  checkWork(graph, cluster.log, manners.healed);
  checkCursors(graph, cluster.log);
  checkWaits(cluster.log);
  assertReplays(cluster.log, cluster.folded, random.between(0, cluster.log.length));
  count(tally, 'executions');
  count(tally, cluster.folded.status);
  count(tally, 'stale decisions', cluster.stale);
  if (cluster.folded.parentExecutionId !== null) count(tally, 'children');
  for (const row of cluster.log.filter(moves)) {
    count(tally, row.event_type);
    if (objectOf(metaOf(row).cursor).phase === 'body') count(tally, 'rows of cursors');
    if (objectOf(detailOf(row).error_info).kind === 'timeout') count(tally, 'timeouts');
  }
}

function checkOutcome({ cluster }: Actor, expected: ReturnType<typeof expectedOf>): void {
  const { status } = cluster.folded;
  if (status !== expected.status) throw new Error(`it ended ${status}, must end ${expected.status}`);
  if (status !== 'COMPLETED') return;
  const entered = namesOf(
    cluster.log.filter((row) => row.event_type === 'step.enter' && moves(row)).map((row) => row.node_name),
  );
  const wanted = namesOf([...expected.entered]);
  if (entered !== wanted) throw new Error(`it entered ${entered}, must enter ${wanted}`);
}

const namesOf = (names: readonly (string | null)[]) => [...names].sort().join(' ');
