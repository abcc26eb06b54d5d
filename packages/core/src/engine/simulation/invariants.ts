// What must be true of any log that ended, whatever happened on the way. Reads rows and the plan; asks the engine nothing.
import type { EventRow } from '../row.js';
import type { RandomGraph } from './graphs.js';
import { arcsOf } from './oracle.js';
import { CLOSING, detailOf, ensure, FORKED, isPartOfLoop, metaOf, moves, objectOf, TERMINAL } from './rows.js';

/** Throws with the first invariant that does not hold. */
export function checkLog(graph: RandomGraph, all: readonly EventRow[]): void {
  const rows = all.filter(moves);
  checkVersions(all);
  checkEnd(rows);
  checkCommands(rows);
  checkLostWorkers(graph, rows);
  checkVisits(graph, rows);
  checkVerdict(graph, rows);
  if (graph.acyclic) checkJoins(graph, rows);
}

function checkVersions(rows: readonly EventRow[]): void {
  rows.forEach((row, index) => {
    ensure(row.stream_version === index + 1, `row ${index + 1} has version ${row.stream_version}`);
  });
}

function checkEnd(rows: readonly EventRow[]): void {
  const ends = rows.filter((row) => TERMINAL.has(row.event_type));
  ensure(ends.length === 1, `${ends.length} terminal events`);
  const after = rows.filter((row) => row.stream_version > (ends[0]?.stream_version ?? 0));
  ensure(after.length === 0, `${after[0]?.event_type} after the end`);
}

function checkCommands(rows: readonly EventRow[]): void {
  const closed = new Map<string, number>();
  const tokens = new Map<string, number>();
  for (const row of rows) {
    if (row.event_type === FORKED) for (const [id, count] of closed) if (count === 0) closed.set(id, 1);
    const id = row.command_id;
    if (id === null) continue;
    if (row.event_type === 'command.issued') {
      ensure(!closed.has(id), `${id} was issued twice`);
      closed.set(id, 0);
    } else if (CLOSING.has(row.event_type)) {
      closed.set(id, (closed.get(id) ?? 10) + 1);
    } else if (row.event_type === 'command.claimed') {
      const token = Number(metaOf(row).claim_token);
      ensure(token > (tokens.get(id) ?? 0), `token ${token} of ${id} does not grow`);
      tokens.set(id, token);
    }
  }
  for (const [id, count] of closed) ensure(count === 1, `${id} was closed ${count} times`);
}

/** What is not idempotent has one command a visit once its worker is lost or late: nobody knows whether the work was done. */
function checkLostWorkers(graph: RandomGraph, rows: readonly EventRow[]): void {
  const once = new Set(graph.plans.filter((plan) => !plan.idempotent).map((plan) => plan.name));
  const lost = new Set<string>();
  for (const row of rows) {
    const step = row.node_name ?? '';
    if (row.event_type === FORKED) lost.clear(); // whoever forks wants it tried again
    if (!once.has(step)) continue;
    const isItem = isPartOfLoop(row);
    if (row.event_type === 'step.enter') lost.delete(step);
    if (row.event_type === 'command.requeued') ensure(metaOf(row).reason !== 'lease_expired', `'${step}' was put back`);
    const { code } = objectOf(detailOf(row).error_info);
    if (row.event_type === 'command.failed' && (code === 'WORKER_LOST' || code === 'TIMEOUT')) lost.add(step);
    if (row.event_type === 'command.issued')
      ensure(isItem || !lost.has(step), `'${step}' was tried again after its worker was lost`);
  }
}

/** A step runs once, until an arc that goes back begins a new epoch for it; a visit has one open command at a time. */
function checkVisits(graph: RandomGraph, rows: readonly EventRow[]): void {
  const plans = new Map(graph.plans.map((plan) => [plan.name, plan]));
  const decided = new Set<string>();
  const runs = new Map<string, number>();
  const open = new Map<string, string>();
  /** Steps that an arc was taken to, and that have not been visited since. */
  const owed = new Set<string>();
  for (const row of rows) {
    const step = row.node_name ?? '';
    const run = Number(metaOf(row).run ?? 0);
    switch (row.event_type) {
      case 'step.enter':
      case 'step.skipped': {
        ensure(!decided.has(step), `'${step}' was decided twice in one epoch (version ${row.stream_version})`);
        decided.add(step);
        owed.delete(step);
        const moved = run > (runs.get(step) ?? 0);
        ensure(moved || metaOf(row).reason === 'dead_path', `visit ${run} of '${step}' does not grow`);
        runs.set(step, run);
        break;
      }
      case 'next.evaluated': {
        for (const name of Object.keys(objectOf(detailOf(row).reset))) decided.delete(name);
        const plan = plans.get(step);
        const targets = plan === undefined ? [] : arcsOf(graph, plan);
        for (const index of detailOf(row).taken as number[]) {
          const to = targets[index]?.to ?? '';
          if (plans.has(to) && !decided.has(to)) owed.add(to);
        }
        break;
      }
      case 'command.issued':
        if (isPartOfLoop(row)) break; // the loop counts its open items itself
        ensure(!open.has(step), `'${step}' has two open commands (version ${row.stream_version})`);
        open.set(step, row.command_id ?? '');
        break;
      case FORKED:
        open.clear();
        break;
      default:
        if (CLOSING.has(row.event_type)) open.delete(step);
    }
  }
  const end = rows.find((row) => TERMINAL.has(row.event_type));
  if (end?.status !== 'COMPLETED' || metaOf(end).reason !== 'quiescent') return;
  ensure(owed.size === 0, `an arc to '${[...owed].join("', '")}' was taken, but nothing came of it`);
}

/** COMPLETED exactly when nothing failed unhandled and nobody stopped the run; then every taken arc led somewhere. */
function checkVerdict(graph: RandomGraph, rows: readonly EventRow[]): void {
  const end = rows.find((row) => TERMINAL.has(row.event_type)) as EventRow;
  const reason = metaOf(end).reason;
  ensure(reason !== 'evaluate_error', `the engine failed: ${end.error}`);
  if (reason === 'cancelled' || reason === 'finalized') return;
  const plans = new Map(graph.plans.map((plan) => [plan.name, plan]));
  const broken = new Set<string>();
  const visited = new Set<string>();
  const targets = new Set<string>();
  let unhandled = false;
  for (const row of rows) {
    const step = row.node_name ?? '';
    if (row.event_type === 'step.enter' || (row.event_type === 'step.skipped' && metaOf(row).reason === 'guard'))
      visited.add(step);
    if (row.event_type === 'step.failed') broken.add(step);
    if (plans.get(step)?.loop !== undefined || plans.get(step)?.table !== undefined) {
      if (row.event_type === 'loop.done' && row.status === 'FAILED') broken.add(step);
    } else {
      if (row.event_type === 'command.failed') broken.add(step);
      if (row.event_type === 'command.completed' && row.status === 'error') broken.add(step);
      if (row.event_type === 'command.issued') broken.delete(step);
    }
    if (row.event_type !== 'next.evaluated') continue;
    const plan = plans.get(step);
    const taken = detailOf(row).taken as number[];
    ensure(!unhandled, `'${step}' was routed after a failure that nothing handled`);
    if (broken.delete(step) && plan?.onError !== 'continue' && taken.length === 0) unhandled = true;
    if (plan !== undefined) for (const index of taken) targets.add(arcsOf(graph, plan)[index]?.to ?? 'end');
  }
  const status = unhandled ? 'FAILED' : 'COMPLETED';
  ensure(end.status === status, `the run ended ${end.status}, its steps say ${status}`);
  if (unhandled) return;
  ensure(broken.size === 0, `a failure of '${[...broken].join("', '")}' was never routed`);
  for (const name of targets)
    ensure(visited.has(name) || !plans.has(name), `an arc to '${name}' was taken, but it never ran`);
}

/** On a graph without cycles: a step starts, or is skipped, only when each branch into it has finished or is dead. */
function checkJoins(graph: RandomGraph, rows: readonly EventRow[]): void {
  const { entryStep, finalStep } = graph.playbook.executor;
  const sources = new Map<string, { from: string; index: number }[]>();
  for (const plan of graph.plans) {
    arcsOf(graph, plan).forEach(({ to }, index) => {
      sources.set(to, [...(sources.get(to) ?? []), { from: plan.name, index }]);
    });
  }
  /** Arcs that each finished step took. */
  const taken = new Map<string, readonly number[]>();
  const decided = new Set<string>();
  const isDead = (name: string): boolean => {
    if (name === entryStep || name === finalStep || decided.has(name)) return false;
    return (sources.get(name) ?? []).every(({ from, index }) => {
      const arcs = taken.get(from);
      return arcs === undefined ? isDead(from) : !arcs.includes(index);
    });
  };
  for (const row of rows) {
    const step = row.node_name ?? '';
    if (row.event_type === 'next.evaluated') taken.set(step, detailOf(row).taken as number[]);
    if (row.event_type !== 'step.enter' && row.event_type !== 'step.skipped') continue;
    const arcs = sources.get(step) ?? [];
    const holdsToken = arcs.some(({ from, index }) => taken.get(from)?.includes(index));
    if (metaOf(row).reason === 'dead_path')
      ensure(!holdsToken, `'${step}' was skipped although an arc to it was taken`);
    else if (step !== entryStep && step !== finalStep)
      ensure(holdsToken, `'${step}' started although no arc to it was taken`);
    for (const { from } of arcs) {
      ensure(
        taken.has(from) || isDead(from),
        `'${step}' was decided before its branch '${from}' (version ${row.stream_version})`,
      );
    }
    decided.add(step);
    if (metaOf(row).reason === 'dead_path') taken.set(step, []);
  }
  // Who did not run says so: a run that went through leaves no step without a verdict.
  const end = rows.find((row) => TERMINAL.has(row.event_type));
  if (end?.status !== 'COMPLETED' || metaOf(end).reason !== 'quiescent') return;
  for (const name of reachable(graph)) ensure(decided.has(name), `'${name}' was neither entered nor skipped`);
}

function reachable(graph: RandomGraph): Set<string> {
  const seen = new Set([graph.playbook.executor.entryStep]);
  // A set that grows while it is walked is walked to its end.
  for (const name of seen) {
    const plan = graph.plans.find((found) => found.name === name);
    if (plan === undefined) seen.delete(name);
    else for (const { to } of arcsOf(graph, plan)) seen.add(to);
  }
  return seen;
}
