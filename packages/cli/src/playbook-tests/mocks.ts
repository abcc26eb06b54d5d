// Chooses what a mock answers. An answer with `when` is given whenever its condition holds, the first that does; the others are given one
// after the other, and the last of them stays.
import {
  type CompiledCondition,
  compileCondition,
  compileValue,
  type Json,
  type JsonObject,
  type Mock,
  type MockAnswer,
  scopeOf,
  type ValueTemplate,
} from '@noetl/core';

/** What a tool was asked. */
export interface Call {
  /** The step, or `step.task`. */
  readonly name: string;
  readonly input: JsonObject;
  /** Its other fields, rendered. */
  readonly config: JsonObject;
}

export type MockCall = Pick<Call, 'input' | 'config'> & { readonly attempt: number };

export interface Mocks {
  has(name: string): boolean;
  /** Undefined when no answer fits this call. */
  answer(name: string, call: MockCall): MockAnswer | undefined;
}

interface Prepared {
  readonly answer: MockAnswer;
  readonly when: CompiledCondition | undefined;
  readonly result: ValueTemplate;
}

interface Sequence {
  readonly conditional: readonly Prepared[];
  readonly inTurn: readonly Prepared[];
  /** Calls so far, and how many of them were answered in turn. */
  calls: number;
  turns: number;
}

export function createMocks(mocks: readonly Mock[]): Mocks {
  const sequences = new Map(mocks.map(({ name, answers }) => [name, sequenceOf(answers)]));
  return {
    has: (name) => sequences.has(name),
    answer(name, { input, config, attempt }) {
      const sequence = sequences.get(name);
      if (sequence === undefined) return undefined;
      const locals = { input, config, attempt, call: ++sequence.calls };
      const scope = scopeOf(locals, { get: (key) => (Object.hasOwn(input, key) ? input[key] : undefined) });
      const chosen = sequence.conditional.find(({ when }) => when?.test(scope)) ?? nextInTurn(sequence);
      return chosen && rendered(chosen, chosen.result.constant ? undefined : chosen.result.render(scope));
    },
  };
}

function sequenceOf(answers: readonly MockAnswer[]): Sequence {
  const prepared = answers.map(
    (answer): Prepared => ({
      answer,
      when: answer.when === undefined ? undefined : compileCondition(answer.when),
      result: compileValue(answer.type === 'run' ? null : (answer.result ?? null)),
    }),
  );
  return {
    conditional: prepared.filter(({ when }) => when !== undefined),
    inTurn: prepared.filter(({ when }) => when === undefined),
    calls: 0,
    turns: 0,
  };
}

function nextInTurn(sequence: Sequence): Prepared | undefined {
  return sequence.inTurn[Math.min(sequence.turns++, sequence.inTurn.length - 1)];
}

function rendered({ answer }: Prepared, result: Json | undefined): MockAnswer {
  return answer.type === 'run' || result === undefined ? answer : { ...answer, result };
}
