// Those around an execution who are no workers: the sweeper that finds deadlines, people who send signals (before anybody waits, while
// somebody does, twice, or never), and people who post events of their own or end the execution.
import type { Id } from '../../ids/index.js';
import type { Fact } from '../decide.js';
import type { CommandState } from '../state.js';
import { type Cluster, mustRefuse } from './cluster.js';
import type { CrewOptions } from './crew.js';
import { NEVER } from './parked.js';
import { posted } from './reports.js';

export interface Onlookers {
  /** What they could do now, each with its weight. */
  moves(): [number, () => void][];
  /** When they could do something because time has passed. */
  times(): number[];
  /** An event with a name of ours, or of their own, that must move nothing. */
  postForeign(): void;
  /** Somebody ends the execution. */
  interfere(): void;
  disperse(): void;
}

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

type Signal = Extract<Fact, { type: 'signal' }>;

export function createOnlookers(options: CrewOptions): Onlookers {
  const { cluster, graph, random, manners, surroundings } = options;
  const names = graph.plans.flatMap(({ wait }) =>
    typeof wait?.config.signal === 'string' ? [wait.config.signal] : [],
  );
  const sendable = names.filter((name) => name !== NEVER || manners.healed);
  const sent: Signal[] = [];
  /** How many are sent before anybody asks for them. */
  let early = random.pick([0, 0, 1, 3]);

  function send(name: string): void {
    const eventId: Id | null = random.chance(0.5) ? surroundings.nextId() : null;
    const signal: Signal = { type: 'signal', name, payload: { nr: sent.length }, eventId };
    if (eventId !== null) sent.push(signal);
    cluster.submit(signal);
  }

  /** Whoever got no answer sends it again, under the same id. */
  function sendAgain(): void {
    const signal = random.pick(sent);
    const known = cluster.log.some((row) => row.event_id === signal.eventId);
    const answer = cluster.submit(signal);
    if (known && answer?.duplicate !== true) throw new Error(`signal ${signal.eventId} was taken twice`);
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

  const parked = (): CommandState[] => Object.values(cluster.folded.commands).filter(({ park }) => park !== null);
  const now = surroundings.nowMs;
  const dueOf = ({ park }: CommandState) => (park?.dueAt == null ? Number.POSITIVE_INFINITY : Date.parse(park.dueAt));
  /** How long a child takes is a matter of chance, and a calm run has an outcome that is not. */
  const isTimed = ({ park }: CommandState) => manners.harsh || park?.kind !== 'child';
  const due = ({ commandId }: CommandState): Fact => ({ type: 'due', commandId, token: 0 });

  return {
    moves() {
      const moves: [number, () => void][] = [];
      const all = parked();
      if (all.length > 0) {
        const over = all.filter((command) => isTimed(command) && dueOf(command) <= now());
        const open = all.filter((command) => dueOf(command) > now());
        if (over.length > 0) moves.push([4, () => void cluster.submit(due(random.pick(over)))]);
        const heard = all.flatMap(({ park }) => (park?.kind === 'wait' && park.signal !== null ? [park.signal] : []));
        const wanted = heard.filter((name) => sendable.includes(name) || (manners.harsh && random.chance(0.05)));
        if (wanted.length > 0) moves.push([3, () => send(random.pick(wanted))]);
        // Only beside something that moves the run: else a run that hangs would seem to go on.
        if (moves.length > 0 && open.length > 0)
          moves.push([
            0.3,
            () => mustRefuse(cluster, due(random.pick(open)), ['not_due', 'not_open', 'already_terminal']),
          ]);
      }
      if (early > 0 && sendable.length > 0)
        moves.push([
          0.5,
          () => {
            early--;
            send(random.pick(sendable));
          },
        ]);
      if (moves.length > 0 && sent.length > 0) moves.push([0.3, sendAgain]);
      return moves;
    },
    postForeign,
    interfere,
    times: () => parked().filter(isTimed).map(dueOf).filter(Number.isFinite),
    disperse() {
      const late: Signal = { type: 'signal', name: NEVER, payload: null, eventId: null };
      mustRefuse(cluster, late, ['already_terminal']);
    },
  };
}

function withoutPlace(cluster: Cluster): string {
  return JSON.stringify({ ...cluster.folded, version: 0, lastEventId: null });
}
