// Hands messages between executions, as packages/server/src/messages/courier.ts does: late, out of order, twice, by two couriers at a
// time, with a crash between any two steps of a delivery; but a message is gone only when it was delivered.
import type { Id } from '../../ids/index.js';
import type { Fact } from '../decide.js';
import type { ChildPark } from '../events.js';
import type { Message, Posted } from '../messages.js';
import { type ExecutionState, isTerminal } from '../state.js';
import type { Random } from './random.js';

export interface Courier {
  post(sender: Id, messages: readonly Posted[]): void;
  /** Does one step of one delivery. False: nothing is on its way. */
  act(): boolean;
  /** Everything was delivered. */
  isIdle(): boolean;
}

export interface Recipients {
  /** The head of its log; undefined when there is no such execution. */
  stateOf(id: Id): Readonly<ExecutionState> | undefined;
  /** False: the server crashed, and nobody knows whether the fact was stored. */
  tell(id: Id, fact: Fact): boolean;
  /** The same for the first fact of a child. */
  begin(park: ChildPark, parent: Readonly<ExecutionState>, commandId: string): boolean;
}

interface Letter {
  readonly sender: Id;
  readonly message: Message;
}

interface Errand {
  readonly id: Id;
  /** Yields between the steps of a delivery; returns whether it was delivered. */
  readonly steps: Generator<undefined, boolean>;
  /** Its courier is slow: much happens between two of its steps. */
  readonly slow: boolean;
}

export function createCourier(recipients: Recipients, random: Random, crash: number): Courier {
  const letters = new Map<Id, Letter>();
  const errands: Errand[] = [];

  function* deliver({ sender, message }: Letter): Generator<undefined, boolean> {
    switch (message.type) {
      case 'start_child':
        return yield* startChild(sender, message.commandId, message.target);
      case 'cancel':
        return recipients.tell(message.target, { type: 'cancel', reason: message.reason });
      case 'child_ended': {
        const { status, data, error, commandId } = message;
        const end = { childId: sender, status, data, error };
        return recipients.tell(message.target, { type: 'child_ended', commandId, end });
      }
    }
  }

  function* startChild(parent: Id, commandId: string, child: Id): Generator<undefined, boolean> {
    const asked = wanted(parent, commandId);
    yield;
    if (asked !== undefined && !recipients.begin(asked.park, asked.state, commandId)) return false;
    yield;
    const now = wanted(parent, commandId);
    yield;
    if (now === undefined) {
      // A child that somebody waited for, and nobody waits for any more: the cancel may have come before the start.
      const started = recipients.stateOf(child);
      if (started?.caller?.commandId !== commandId || isTerminal(started)) return true;
      return recipients.tell(child, { type: 'cancel', reason: 'the step that started it is gone' });
    }
    return now.park.wait || recipients.tell(parent, { type: 'child_started', commandId });
  }

  function wanted(parent: Id, commandId: string) {
    const state = recipients.stateOf(parent);
    const park = state?.commands[commandId]?.park;
    // A state that is read is a copy: what happens next does not reach it.
    return state !== undefined && park?.kind === 'child' ? { state: { ...state }, park } : undefined;
  }

  function step(errand: Errand): void {
    // A courier that crashes leaves its letter to another.
    const crashed = random.chance(crash);
    const { done, value } = crashed ? { done: true, value: false } : errand.steps.next();
    if (done !== true) return;
    errands.splice(errands.indexOf(errand), 1);
    if (value === true && !random.chance(crash)) letters.delete(errand.id);
  }

  return {
    post(sender, messages) {
      for (const { id, message } of messages) letters.set(id, { sender, message });
    },
    isIdle: () => letters.size === 0 && errands.length === 0,
    act() {
      if (letters.size === 0 && errands.length === 0) return false;
      // Rarely one that is on its way already: its courier seems to be dead.
      const waiting = [...letters.keys()].filter(
        (id) => random.chance(0.05) || errands.every((errand) => errand.id !== id),
      );
      if (waiting.length > 0 && (errands.length === 0 || random.chance(0.3))) {
        const id = random.pick(waiting);
        errands.push({ id, steps: deliver(letters.get(id) as Letter), slow: random.chance(0.3) });
        return true;
      }
      const awake = errands.filter(({ slow }) => !slow || random.chance(0.1));
      if (awake.length > 0) step(random.pick(awake));
      return true;
    },
  };
}
