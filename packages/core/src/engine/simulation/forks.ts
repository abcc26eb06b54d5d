// Forks of executions that have ended: a new execution begins with the kept part of the log, in a world where nothing fails any more.
// It must reach its end, and must not repeat what had succeeded.
import type { Id } from '../../ids/index.js';
import type { JsonObject } from '../../json/types.js';
import { type ForkPoint, forkPrefix, rekey } from '../fork.js';
import type { EventRow } from '../row.js';
import { CATALOG } from './cluster.js';
import type { RandomGraph } from './graphs.js';
import type { Random } from './random.js';
import { ensure, FORKED, itemOf, metaOf, moves, objectOf } from './rows.js';
import { type Actor, createStage, type StageOptions } from './stage.js';
import { count, type Tally } from './tally.js';

const TARGET = '700000000000000900' as Id;

/** Nobody, when the log cannot be forked at the point that chance has chosen. */
export function playFork(options: StageOptions, source: Actor, tally: Tally): readonly Actor[] {
  const { graph, catalog, random, clock } = options;
  const { log, folded } = source.cluster;
  const point = choosePoint(random, log);
  const found = catalog.get(graph.playbook.metadata.path);
  if (found === undefined) throw new Error('the playbook is gone');
  const prefix = forkPrefix(found.compiled.graph, log, point);
  if (typeof prefix === 'string') {
    const nothingFailed = folded.status === 'COMPLETED';
    ensure(point.mode !== 'from_failure' || nothingFailed, `${folded.status}, but cannot be forked: ${prefix}`);
    return [];
  }
  count(tally, `forks ${point.mode}`);
  const changes: JsonObject =
    point.mode === 'from_failure' ? {} : { low: random.between(0, 3), flag: random.chance(0.5) };
  const healed = { harsh: false, healed: true };
  const stage = createStage({ ...options, random: random.fork('stage'), manners: healed });
  const actor = stage.open(TARGET, {
    type: 'fork',
    catalogId: CATALOG,
    rows: rekey(prefix.rows, TARGET, clock.nextId),
    source: folded.executionId,
    sourceEventId: prefix.lastEventId,
    mode: point.mode,
    workload: { ...prefix.workload, ...changes },
  });
  const actors = stage.play();
  checkRepeats(actor.cluster.log);
  const { status, error } = actor.cluster.folded;
  ensure(
    status === 'COMPLETED' || !isHealable(graph),
    `a ${point.mode} fork of a healed playbook ended ${status}: ${error}`,
  );
  return actors;
}

function choosePoint(random: Random, log: readonly EventRow[]): ForkPoint {
  const steps = log.flatMap((row) => (row.event_type === 'step.enter' && moves(row) ? [row.node_name ?? ''] : []));
  return random.pick<ForkPoint>([
    { mode: 'from_failure' },
    { mode: 'from_failure' },
    { mode: 'from_step', step: steps.length === 0 ? 'none' : random.pick(steps) },
    { mode: 'from_event', eventId: random.pick(log).event_id },
  ]);
}

/** Trouble that lies in the playbook itself, not in its tools, stays. */
function isHealable({ plans, playbook }: RandomGraph): boolean {
  if (playbook.executor.noNextIsError) return false;
  return plans.every(({ loop, child }) => {
    if (loop?.unrenderable !== undefined || loop?.model.in === '{{ workload.flag }}') return false;
    return child === undefined || (child.graph.endless !== true && isHealable(child.graph));
  });
}

/** Work that had succeeded in the kept part is not done again in the same visit. */
function checkRepeats(log: readonly EventRow[]): void {
  const rows = log.filter(moves);
  const at = rows.findIndex((row) => row.event_type === FORKED);
  const works = new Map<string, string>();
  const done = new Set<string>();
  for (const [index, row] of rows.entries()) {
    const id = row.command_id ?? '';
    if (row.event_type === 'command.issued') {
      const work = workOf(row);
      works.set(id, work);
      ensure(index < at || !done.has(work), `${work} had succeeded, and was done again`);
    }
    if (index < at && row.event_type === 'command.completed' && row.status === 'success') done.add(works.get(id) ?? '');
  }
}

function workOf(row: EventRow): string {
  const { phase, frame, row: number } = objectOf(metaOf(row).cursor);
  const piece = phase === undefined ? itemOf(row) : [phase, frame, number];
  return JSON.stringify([row.node_name, metaOf(row).run, piece ?? null]);
}
