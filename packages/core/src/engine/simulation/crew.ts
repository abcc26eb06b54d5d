// Workers, a sweeper and passers-by around a cluster. They claim, report, report twice, report late, vanish, give back, cancel and
// post events of other people, in random order; they also say what the engine must answer to each of these.

import type { Fact } from '../decide.js';
import type { EventRow } from '../row.js';
import { type CommandState, isTerminal } from '../state.js';
import { type Cluster, mustRefuse, type Surroundings } from './cluster.js';
import type { RandomGraph, StepPlan } from './graphs.js';
import { createOnlookers } from './onlookers.js';
import { type Random, weighted } from './random.js';
import { called, completed, failed, started, type Told } from './reports.js';
import { metaOf } from './rows.js';
import type { Manners } from './stage.js';
import { createTools, type Lease } from './tools.js';

export interface Crew {
  /** Does one thing. False: there is nothing that anybody could do now. */
  act(): boolean;
  /** When somebody can do something again, only because time has passed. */
  nextTime(): number | undefined;
  /** The run is over: whoever is late reports now, and is refused. */
  disperse(): void;
}

const WORKERS = ['w1', 'w2', 'w3'];

export interface CrewOptions {
  readonly cluster: Cluster;
  readonly graph: RandomGraph;
  readonly random: Random;
  readonly manners: Manners;
  readonly surroundings: Surroundings;
}

export function createCrew(options: CrewOptions): Crew {
  const { cluster, graph, random, manners, surroundings } = options;
  const { harsh } = manners;
  const now = surroundings.nowMs;
  const tools = createTools(options);
  const onlookers = createOnlookers(options);
  const plans = new Map(graph.plans.map((plan) => [plan.name, plan]));
  const leases = new Map<string, Lease>();
  const late: Lease[] = [];
  const finished: Lease[] = [];
  const unansweredClaims: { commandId: string; workerId: string }[] = [];
  const expiries = new Map<string, number>();
  /** Commands that were given back, and when they may be taken again. */
  const delayed = new Map<string, number>();

  function claim(commandId: string, workerId: string): void {
    const command = cluster.folded.commands[commandId];
    const answer = cluster.submit({ type: 'claim', commandId, workerId });
    if (answer === undefined) {
      unansweredClaims.push({ commandId, workerId });
      return;
    }
    const held = answer.command;
    if (answer.refused === 'already_claimed') {
      if (held?.workerId === workerId) hold(held, workerId, held.token);
      return;
    }
    if (answer.refused !== undefined || command === undefined) return;
    hold(command, workerId, cluster.folded.commands[commandId]?.token ?? 0);
  }

  function hold({ commandId, step, run, iteration, cursor }: CommandState, workerId: string, token: number): void {
    if (leases.get(commandId)?.token === token) return;
    const limit = metaOf(cluster.issued.get(commandId) as EventRow).timeout_ms;
    const deadline = typeof limit === 'number' ? now() + limit : Number.POSITIVE_INFINITY;
    const work = { commandId, step, run, index: iteration, part: cursor, workerId, token, deadline };
    leases.set(commandId, { ...work, stage: 'claimed', unsure: false, closing: null });
  }

  function report(lease: Lease): void {
    if (lease.closing === null && lease.stage === 'called' && random.chance(0.5)) lease.closing = surroundings.nextId();
    const fact = tools.report(lease);
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

  /** A loop that fails fast takes its other items back from their workers. */
  function wasCancelled({ commandId }: Lease): boolean {
    return cluster.log.some((row) => row.command_id === commandId && row.event_type === 'command.cancelled');
  }

  function expire(lease: Lease): void {
    const fact: Fact = { type: 'lease_expired', commandId: lease.commandId, token: lease.token };
    cluster.submit(fact);
    if (stillHolds(lease)) return; // the sweeper crashed before it wrote
    expiries.set(lease.commandId, (expiries.get(lease.commandId) ?? 0) + 1);
    giveUp(lease);
    mustRefuse(cluster, fact, ['stale_claim', 'not_open', 'already_terminal']);
  }

  function release(lease: Lease): void {
    const { commandId, token } = lease;
    const countAttempt = harsh && random.chance(0.5);
    const delayMs = random.pick([0, 0, 5_000, 3_600_000]);
    const resume = random.chance(0.3) ? { resume: { task: 1 } } : {};
    const release = { type: 'release', commandId, token, reason: 'drain', delayMs, countAttempt, ...resume } as const;
    const answer = cluster.submit(release);
    if (!stillHolds(lease)) {
      delayed.set(commandId, now() + delayMs);
      giveUp(lease);
    } else if (answer !== undefined)
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

  function reportLate(lease: Lease): void {
    const told: Told = { ...lease, eventId: null };
    const row = random.pick([completed(told), failed(told), called(told, { value: 77 }), started(told)]);
    // Without a token the name must tell: then the command may not be with the same worker again.
    const byName = cluster.folded.commands[lease.commandId]?.workerId !== lease.workerId && random.chance(0.3);
    const fact: Fact = byName ? { type: 'event', row } : { type: 'event', row, token: lease.token };
    mustRefuse(cluster, fact, ['stale_claim', 'not_open', 'already_terminal']);
  }

  function reportTwice(lease: Lease): void {
    const told: Told = { ...lease, eventId: random.chance(0.5) ? lease.closing : null };
    mustRefuse(cluster, { type: 'event', row: random.pick([completed(told), failed(told)]), token: lease.token }, [
      'not_open',
      'already_terminal',
    ]);
  }

  function act(): boolean {
    const pending = openCommands().filter(({ commandId }) => (delayed.get(commandId) ?? 0) <= now());
    const held = [...leases.values()].filter((lease) => !tools.hang(lease));
    const overdue = [...leases.values()].filter((lease) => (harsh || tools.hang(lease)) && lease.deadline <= now());
    const moves: [number, () => void][] = onlookers.moves();
    if (pending.length > 0) moves.push([6, () => claim(random.pick(pending).commandId, random.pick(WORKERS))]);
    if (held.length > 0) {
      moves.push([9, () => report(random.pick(held))]);
      moves.push([0.4, () => release(random.pick(held))]);
      moves.push([0.3, () => mustBeTaken(random.pick(held))]);
      const mortal = held.filter(mayVanish);
      if (mortal.length > 0) moves.push([harsh ? 2 : 0.8, () => expire(random.pick(mortal))]);
    }
    if (overdue.length > 0) moves.push([4, () => runOut(random.pick(overdue))]);
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
    if (moves.length === 0) {
      if (!harsh || !random.chance(0.05)) return false;
      onlookers.interfere(); // nothing to do but to wait for others: somebody may lose patience
      return true;
    }
    if (late.length > 0) moves.push([0.7, () => reportLate(random.pick(late))]);
    if (finished.length > 0) moves.push([0.5, () => reportTwice(random.pick(finished))]);
    moves.push([0.2, onlookers.postForeign]);
    // A cancel is most dangerous while a child is about to start.
    const starting = Object.values(cluster.folded.commands).some(({ park }) => park?.kind === 'child');
    if (harsh) moves.push([starting ? 0.6 : 0.08, onlookers.interfere]);
    weighted(random, moves)();
    return true;
  }

  function openCommands(): CommandState[] {
    return Object.values(cluster.folded.commands).filter(({ status }) => status === 'PENDING');
  }

  function runOut(lease: Lease): void {
    const { commandId, token } = lease;
    cluster.submit({ type: 'due', commandId, token });
    if (stillHolds(lease)) return;
    giveUp(lease);
    mustRefuse(cluster, { type: 'due', commandId, token }, ['not_open', 'stale_claim', 'already_terminal']);
  }

  function nextTime(): number | undefined {
    const held = [...leases.values()].filter(tools.hang).map(({ deadline }) => deadline);
    const given = openCommands().map(({ commandId }) => delayed.get(commandId) ?? 0);
    const times = [...held, ...given, ...onlookers.times()];
    return times.length === 0 ? undefined : Math.min(...times);
  }

  function mustBeTaken(lease: Lease): void {
    mustRefuse(cluster, { type: 'claim', commandId: lease.commandId, workerId: 'w9' }, [
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
    onlookers.disperse();
    for (const group of [[...leases.values()], late, finished]) {
      if (group.length === 0) continue;
      const lease = random.pick(group);
      mustRefuse(cluster, { type: 'event', row: completed(lease), token: lease.token }, ['already_terminal']);
    }
    mustRefuse(cluster, { type: 'cancel', reason: 'too late' }, ['already_terminal']);
    mustRefuse(cluster, { type: 'finalize', status: 'FAILED', error: 'too late' }, ['already_terminal']);
    onlookers.postForeign();
  }

  return { act, nextTime, disperse };
}
