// Which steps and arcs of a playbook its tests have reached, and how often.
import type { Playbook } from '@noetl/core';
import type { Played } from './stage.js';

export interface Coverage {
  readonly steps: readonly { readonly name: string; readonly line: number; readonly count: number }[];
  readonly arcs: readonly {
    readonly from: string;
    readonly to: string;
    readonly line: number;
    readonly count: number;
  }[];
}

export function createCoverage({ steps }: Playbook): { add(played: Played): void; summary(): Coverage } {
  const entered = new Map<string, number>();
  const taken = new Map<string, number>();
  const count = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
  const arcKey = (step: string, index: number) => `${index} ${step}`;

  return {
    add({ events }) {
      for (const event of events) {
        if (event.type === 'step.enter') count(entered, event.step);
        if (event.type === 'next.evaluated') for (const index of event.taken) count(taken, arcKey(event.step, index));
      }
    },
    summary: () => ({
      steps: steps.map(({ name, at }) => ({ name, line: at.line, count: entered.get(name) ?? 0 })),
      arcs: steps.flatMap(({ name, next }) =>
        next.arcs.map(({ to, at }, index) => ({
          from: name,
          to,
          line: at.line,
          count: taken.get(arcKey(name, index)) ?? 0,
        })),
      ),
    }),
  };
}
