// Workers, a sweeper and passers-by around a cluster. They claim, report, report twice, report late, vanish, give back, cancel and
// post events of other people, in random order; they also say what the engine must answer to each of these.
import type { Id } from '../../ids/index.js';
import type { Fact } from '../decide.js';
import { isTerminal } from '../state.js';
import type { Answer, Cluster } from './cluster.js';
import type { RandomGraph, StepPlan } from './graphs.js';
import type { Random } from './random.js';
import { called, completed, failed, posted, raised, started, type Told } from './reports.js';
import { answerOf, errorAnswerOf } from './work.js';

export interface Crew {
  /** Does one thing. False: there is nothing left that anybody could do. */
  act(): boolean;
  /** The run is over: everybody who was late reports now, and is refused. */
  disperse(): void;
}

interface Lease {
  readonly commandId: string;
  readonly step: string;
  readonly run: number;
  /** Of the item, when the step loops. */
  readonly index: number | null;
  readonly workerId: string;
  readonly token: number;
  stage: 'claimed' | 'started' | 'called';
  /** A report of this stage went out before, and its answer was lost. */
  unsure: boolean;
  closing: Id | null;
}

type Refusal = NonNullable<Answer['refused']>;
const WORKERS = ['w1', 'w2', 'w3'];
const FOREIGN = [
  'step.enter',
  'playbook.completed',
  'command.issued',
  'next.evaluated',
  'ctx.updated',
  'command.requeued',
  'step.skipped',
  'loop.done',
  'order.shipped',
];

export function createCrew(cluster: Cluster, graph: RandomGraph, random: Random, harsh: boolean): Crew {
  const plans = new Map(graph.plans.map((plan) => [plan.name, plan]));
  const leases = new Map<string, Lease>();
  const late: Lease[] = [];
  const finished: Lease[] = [];
  const unansweredClaims: { commandId: string; workerId: string }[] = [];
  const expiries = new Map<string, number>();

  function claim(commandId: string, workerId: string): void {
    const command = cluster.folded.commands[commandId];
    const answer = cluster.submit({ type: 'claim', commandId, workerId });
    if (answer === undefined) {
      unansweredClaims.push({ commandId, workerId });
      return;
    }
    const held = answer.command;
    if (answer.refused === 'already_claimed') {
      if (held?.workerId !== workerId) return;
      hold({ commandId, step: held.step, run: held.run, index: held.iteration, workerId, token: held.token });
      return;
    }
    if (answer.refused !== undefined || command === undefined) return;
    const token = cluster.folded.commands[commandId]?.token ?? 0;
    hold({ commandId, step: command.step, run: command.run, index: command.iteration, workerId, token });
  }

  function hold(lease: Pick<Lease, 'commandId' | 'step' | 'run' | 'index' | 'workerId' | 'token'>): void {
    const held = leases.get(lease.commandId);
    if (held?.token === lease.token) return;
    leases.set(lease.commandId, { ...lease, stage: 'claimed', unsure: false, closing: null });
  }

  function report(lease: Lease): void {
    const plan = plans.get(lease.step) as StepPlan;
    if (lease.closing === null && lease.stage === 'called' && random.chance(0.5)) lease.closing = cluster.nextId();
    const fact = reportOf(lease, plan, mustFail(lease, plan));
    const answer = cluster.submit(fact);
    if (answer === undefined) {
      lease.unsure = true;
      return;
    }
    const over = answer.refused !== undefined || answer.duplicate === true;
    if (over) {
      const gone = cluster.folded.commands[lease.commandId] === undefined;
      if (!gone) throw new Error(`the holder of ${lease.commandId} was refused: ${answer.refused}`);
      if (!lease.unsure && !isTerminal(cluster.folded) && !wasCancelled(lease))
        throw new Error(`${lease.commandId} was closed behind its worker's back`);
    }
    if (over || lease.stage === 'called') {
      leases.delete(lease.commandId);
      finished.push(lease);
      return;
    }
    lease.unsure = false;
    lease.stage = lease.stage === 'claimed' ? 'started' : 'called';
  }

  function reportOf(lease: Lease, plan: StepPlan, fails: boolean): Fact {
    const told: Told = { ...lease, eventId: lease.stage === 'called' ? lease.closing : null };
    const row = () => {
      if (lease.stage === 'claimed') return started(told);
      if (lease.stage === 'started') {
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
    if (lease.index !== null) return plan.loop?.bad.has(lease.index) === true;
    return plan.failures > 0 && failuresOf(lease) < plan.failures;
  }

  /** A loop that fails fast takes its other items back from their workers. */
  function wasCancelled({ commandId }: Lease): boolean {
    return cluster.log.some((row) => row.command_id === commandId && row.event_type === 'command.cancelled');
  }

  /** How many answers of this visit were errors so far; what the next one is follows from it. */
  function failuresOf(lease: Lease): number {
    const commands = new Set<string>();
    let count = 0;
    for (const row of cluster.log) {
      if (row.node_name !== lease.step || row.command_id === null) continue;
      const run = (row.meta as { run?: number } | null)?.run;
      if (row.event_type === 'command.issued' && run === lease.run) commands.add(row.command_id);
      const isFailure =
        row.event_type === 'command.failed' || (row.event_type === 'command.completed' && row.status === 'error');
      if (isFailure && commands.has(row.command_id)) count++;
    }
    return count;
  }

  function expire(lease: Lease): void {
    const fact: Fact = { type: 'lease_expired', commandId: lease.commandId, token: lease.token };
    cluster.submit(fact);
    if (stillHolds(lease)) return; // the sweeper crashed before it wrote
    expiries.set(lease.commandId, (expiries.get(lease.commandId) ?? 0) + 1);
    giveUp(lease);
    mustRefuse(fact, ['stale_claim', 'not_open', 'already_terminal']);
  }

  function release(lease: Lease): void {
    const { commandId, token } = lease;
    const countAttempt = harsh && random.chance(0.5);
    const answer = cluster.submit({ type: 'release', commandId, token, reason: 'drain', delayMs: 0, countAttempt });
    if (!stillHolds(lease)) giveUp(lease);
    else if (answer !== undefined)
      throw new Error(`the holder of ${commandId} could not give it back: ${answer.refused}`);
  }

  function stillHolds({ commandId, token }: Lease): boolean {
    const command = cluster.folded.commands[commandId];
    return command !== undefined && command.status !== 'PENDING' && command.token === token;
  }

  function giveUp(lease: Lease): void {
    leases.delete(lease.commandId);
    late.push(lease);
  }

  function mustRefuse(fact: Fact, reasons: readonly Refusal[]): void {
    const answer = cluster.submit(fact);
    if (answer === undefined || answer.duplicate === true) return;
    if (answer.refused === undefined || !reasons.includes(answer.refused)) {
      throw new Error(
        `${JSON.stringify(fact)} must be refused (${reasons.join(' or ')}), was ${answer.refused ?? 'accepted'}`,
      );
    }
  }

  function reportLate(lease: Lease): void {
    const told: Told = { ...lease, eventId: null };
    const row = random.pick([completed(told), failed(told), called(told, { value: 77 }), started(told)]);
    // Without a token the name must tell: then the command may not be with the same worker again.
    const byName = cluster.folded.commands[lease.commandId]?.workerId !== lease.workerId && random.chance(0.3);
    const fact: Fact = byName ? { type: 'event', row } : { type: 'event', row, token: lease.token };
    mustRefuse(fact, ['stale_claim', 'not_open', 'already_terminal']);
  }

  function reportTwice(lease: Lease): void {
    const told: Told = { ...lease, eventId: random.chance(0.5) ? lease.closing : null };
    mustRefuse({ type: 'event', row: random.pick([completed(told), failed(told)]), token: lease.token }, [
      'not_open',
      'already_terminal',
    ]);
  }

  function postForeign(): void {
    const before = withoutPlace(cluster);
    const step = random.pick(graph.plans).name;
    const open = Object.keys(cluster.folded.commands);
    const commandId = open.length > 0 && random.chance(0.5) ? random.pick(open) : null;
    cluster.submit({ type: 'event', row: posted(random.pick(FOREIGN), step, commandId) });
    if (withoutPlace(cluster) !== before) throw new Error('an event of somebody else moved the execution');
  }

  function interfere(): void {
    const fact: Fact = random.chance(0.5)
      ? { type: 'cancel', reason: 'not needed any more' }
      : { type: 'finalize', status: random.pick(['COMPLETED', 'FAILED']), error: null };
    cluster.submit(fact);
  }

  function act(): boolean {
    const commands = Object.values(cluster.folded.commands);
    const pending = commands.filter(({ status }) => status === 'PENDING');
    const held = [...leases.values()];
    const moves: [number, () => void][] = [];
    if (pending.length > 0) moves.push([6, () => claim(random.pick(pending).commandId, random.pick(WORKERS))]);
    if (held.length > 0) {
      moves.push([9, () => report(random.pick(held))]);
      moves.push([0.4, () => release(random.pick(held))]);
      moves.push([0.3, () => mustBeTaken(random.pick(held))]);
      const mortal = held.filter(mayVanish);
      if (mortal.length > 0) moves.push([harsh ? 2 : 0.8, () => expire(random.pick(mortal))]);
    }
    const unanswered = unansweredClaims.at(-1);
    if (unanswered !== undefined) {
      moves.push([
        3,
        () => {
          unansweredClaims.pop();
          claim(unanswered.commandId, unanswered.workerId);
        },
      ]);
    }
    if (moves.length === 0) return false;
    if (late.length > 0) moves.push([0.7, () => reportLate(random.pick(late))]);
    if (finished.length > 0) moves.push([0.5, () => reportTwice(random.pick(finished))]);
    moves.push([0.2, postForeign]);
    if (harsh) moves.push([0.08, interfere]);
    weighted(random, moves)();
    return true;
  }

  function mustBeTaken(lease: Lease): void {
    mustRefuse({ type: 'claim', commandId: lease.commandId, workerId: 'w9' }, [
      'already_claimed',
      'not_open',
      'already_terminal',
    ]);
  }

  /** A calm run loses leases only as often as the command can bear, so its outcome does not depend on chance. */
  function mayVanish(lease: Lease): boolean {
    if (harsh) return true;
    const plan = plans.get(lease.step) as StepPlan;
    const needsAll = plan.onError === 'retry' && plan.failures === Number.POSITIVE_INFINITY;
    return plan.idempotent && !needsAll && (expiries.get(lease.commandId) ?? 0) < 1;
  }

  function disperse(): void {
    for (const lease of [...leases.values(), ...late, ...finished]) {
      mustRefuse({ type: 'event', row: completed(lease), token: lease.token }, ['already_terminal']);
    }
    mustRefuse({ type: 'cancel', reason: 'too late' }, ['already_terminal']);
    mustRefuse({ type: 'finalize', status: 'FAILED', error: 'too late' }, ['already_terminal']);
    postForeign();
  }

  return { act, disperse };
}

function withoutPlace(cluster: Cluster): string {
  return JSON.stringify({ ...cluster.folded, version: 0, lastEventId: null });
}

function weighted(random: Random, moves: readonly [number, () => void][]): () => void {
  let point = random.next() * moves.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, move] of moves) {
    point -= weight;
    if (point < 0) return move;
  }
  return (moves.at(-1) as [number, () => void])[1];
}
