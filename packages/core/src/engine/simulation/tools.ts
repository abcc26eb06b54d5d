// What the tools of a random playbook answer, as the plan of each step says, and how the worker that runs one reports it.
import type { Id } from '../../ids/index.js';
import type { Fact } from '../decide.js';
import type { CursorPart } from '../events.js';
import { createClaims } from './claims.js';
import type { CrewOptions } from './crew.js';
import type { StepPlan } from './graphs.js';
import { called, completed, failed, raised, started, type Told } from './reports.js';
import { metaOf } from './rows.js';
import { rowsGiven } from './tables.js';
import { answerOf, errorAnswerOf, isShaky } from './work.js';

/** A command in the hands of a worker. */
export interface Lease {
  readonly commandId: string;
  readonly step: string;
  readonly run: number;
  /** Of the item, when the step loops. */
  readonly index: number | null;
  readonly part: CursorPart | null;
  readonly workerId: string;
  readonly token: number;
  /** When its time is up. */
  readonly deadline: number;
  stage: 'claimed' | 'started' | 'called';
  /** A report of this stage went out before, and its answer was lost. */
  unsure: boolean;
  closing: Id | null;
}

export interface Tools {
  /** What the holder of the lease says next. */
  report(lease: Lease): Fact;
  /** Its worker started it, and is not heard of again. */
  hang(lease: Lease): boolean;
}

export function createTools({ cluster, graph, random, manners: { healed } }: CrewOptions): Tools {
  const claims = createClaims(cluster, random);
  const plans = new Map(graph.plans.map((plan) => [plan.name, plan]));

  function reportOf(lease: Lease, plan: StepPlan, fails: boolean): Fact {
    const told: Told = { ...lease, eventId: lease.stage === 'called' ? lease.closing : null };
    const row = () => {
      if (lease.stage === 'claimed') return started(told);
      if (lease.stage === 'started') {
        if (!fails && lease.part?.phase === 'claim') return called(told, claims.answer(lease, plan));
        if (!fails) return called(told, answerOf(plan, lease));
        return plan.raises ? raised(told) : called(told, errorAnswerOf(plan, lease), 'error');
      }
      if (!fails) return completed(told);
      return plan.raises ? failed(told) : completed(told, 'error');
    };
    // A worker of the reference knows no tokens; it is recognised by its name.
    return random.chance(0.2) ? { type: 'event', row: row() } : { type: 'event', row: row(), token: lease.token };
  }

  function mustFail(lease: Lease, plan: StepPlan): boolean {
    const { loop, table } = plan;
    if (healed) return false;
    if (table !== undefined) {
      if (lease.part?.phase === 'claim') return lease.part.frame === table.badClaim;
      return rowsGiven(cluster.issued.get(lease.commandId)).some((row) => table.bad.has(row));
    }
    if (loop !== undefined && lease.index !== null)
      return loop.bad.has(lease.index) || (isShaky(plan, lease.index) && failuresOf(lease) === 0);
    return plan.failures > 0 && failuresOf(lease) < plan.failures;
  }

  /** How many answers of this visit were errors so far; what the next one is follows from it. */
  function failuresOf(lease: Lease): number {
    const commands = new Set<string>();
    let count = 0;
    for (const row of cluster.log) {
      if (row.node_name !== lease.step || row.command_id === null) continue;
      const { run, iteration_index: index } = metaOf(row);
      const isSame = run === lease.run && (index ?? null) === lease.index;
      if (row.event_type === 'command.issued' && isSame) commands.add(row.command_id);
      const isFailure =
        row.event_type === 'command.failed' || (row.event_type === 'command.completed' && row.status === 'error');
      if (isFailure && commands.has(row.command_id)) count++;
    }
    return count;
  }

  return {
    report(lease) {
      const plan = plans.get(lease.step) as StepPlan;
      return reportOf(lease, plan, mustFail(lease, plan));
    },
    hang: ({ step, stage }) => !healed && stage === 'started' && plans.get(step)?.hangs === true,
  };
}
