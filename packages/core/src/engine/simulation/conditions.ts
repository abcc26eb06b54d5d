// Conditions of random playbooks, written twice: as the template the engine evaluates, and as a function the oracle trusts.
import type { Json } from '../../json/types.js';
import type { Condition } from '../../playbook/model.js';
import type { Random } from './random.js';

export interface Workload {
  readonly low: number;
  readonly high: number;
  readonly flag: boolean;
  readonly list: readonly Json[];
}

/** What a condition of one visit can look at. */
export interface View {
  readonly workload: Workload;
  readonly failed: boolean;
  /** The value the tool answered with; undefined when it gave none. */
  readonly value: number | undefined;
  /** What the step's own `set` has written; undefined when it did not run. */
  readonly seen: number | undefined;
  /** Items of its loop that failed; undefined when it has none, or it did not run. */
  readonly lost: number | undefined;
}

export interface PlannedCondition {
  readonly source: Condition;
  /** Undefined: depends on how often the step ran, which only a loop knows. */
  readonly holds?: (view: View) => boolean;
  readonly seesOutcome: boolean;
}

export const MAX_VISITS = 3;

export function conditionFor(
  random: Random,
  step: string,
  use: 'guard' | 'arc' | 'parked' | 'error' | 'again' | 'loop' | 'piped',
): PlannedCondition {
  const own = `["${step}"]`;
  switch (use) {
    case 'guard':
      return random.pick([...onWorkload(random), literal(random.chance(0.5))]);
    case 'again':
      return { source: `{{ ctx.visits${own} < ${MAX_VISITS} }}`, seesOutcome: false };
    case 'error':
      return random.pick([
        outcome("{{ event.name == 'call.error' }}", (view) => view.failed),
        outcome("{{ output.status == 'error' }}", (view) => view.failed),
        outcome('{{ error is not none and workload.flag }}', (view) => view.failed && view.workload.flag),
        outcome('{{ error.message is defined }}', (view) => view.failed),
      ]);
    case 'loop':
      return random.pick([
        outcome("{{ event.name == 'loop.done' }}", (view) => !view.failed),
        plain('{{ output.data.stats.failed | default(0) > 0 }}', (view) => (view.lost ?? 0) > 0),
        plain('{{ output.data.stats.failed | default(1) == 0 }}', (view) => view.lost === 0),
      ]);
    case 'piped':
      return plain(`{{ ctx.piped${own} == 1 }}`, (view) => view.value === 1);
    // What a signal or a child brings has no value of its own.
    case 'parked':
      return random.pick(onAnyOutcome(random, own));
    case 'arc':
      return random.pick([
        ...onAnyOutcome(random, own),
        plain('{{ output.data.value == 1 }}', (view) => view.value === 1),
        plain(
          '{{ output.data.value >= workload.low }}',
          (view) => view.value !== undefined && view.value >= view.workload.low,
        ),
      ]);
  }
}

function onAnyOutcome(random: Random, own: string): PlannedCondition[] {
  return [
    ...onWorkload(random),
    literal(random.chance(0.5)),
    outcome("{{ event.name == 'call.done' }}", (view) => !view.failed),
    outcome("{{ output.status == 'ok' and workload.flag }}", (view) => !view.failed && view.workload.flag),
    plain(`{{ ctx.seen${own} == 2 }}`, (view) => view.seen === 2),
  ];
}

function onWorkload(random: Random): PlannedCondition[] {
  const bar = random.between(0, 3);
  return [
    plain(`{{ workload.low > ${bar} }}`, ({ workload }) => workload.low > bar),
    plain('{{ workload.low <= workload.high }}', ({ workload }) => workload.low <= workload.high),
    plain('{{ not workload.flag }}', ({ workload }) => !workload.flag),
  ];
}

const plain = (source: string, holds: (view: View) => boolean): PlannedCondition => ({
  source,
  holds,
  seesOutcome: false,
});
const outcome = (source: string, holds: (view: View) => boolean): PlannedCondition => ({
  source,
  holds,
  seesOutcome: true,
});
const literal = (value: boolean): PlannedCondition => ({ source: value, holds: () => value, seesOutcome: false });
