// Random playbooks. Each carries, beside the model the engine runs, a plan that says in plain TypeScript what its conditions mean
// and what its tools will answer: the oracle reads the plan, never the engine's templates.
import type { Condition, Playbook, Step } from '../../playbook/model.js';
import { conditionFor, type PlannedCondition, type Workload } from './conditions.js';
import type { Random } from './random.js';
import { inputOf, type LoopPlan, type PipelinePlan, planLoop, planPipeline, toolOf } from './work.js';

export interface PlannedArc {
  readonly to: string;
  readonly when?: PlannedCondition;
}

export interface StepPlan {
  readonly name: string;
  readonly guard?: PlannedCondition;
  readonly mode: 'exclusive' | 'inclusive';
  readonly arcs: readonly PlannedArc[];
  readonly onError: Step['spec']['onError'];
  readonly failFast: boolean;
  readonly idempotent: boolean;
  /** The tool's first `failures` answers of each visit are errors. */
  readonly failures: number;
  /** How it fails: it raises, or it answers with an error status. */
  readonly raises: boolean;
  readonly value: number;
  /** Counts its visits in `ctx`, so that a loop through it ends. */
  readonly counts: boolean;
  /** Its items decide how it ends, not `failures`. */
  readonly loop?: LoopPlan;
  readonly pipeline?: PipelinePlan;
}

export interface RandomGraph {
  readonly playbook: Playbook;
  readonly plans: readonly StepPlan[];
  readonly workload: Workload;
  readonly acyclic: boolean;
}

const AT = { line: 1, column: 1 };
/** A step may be called anything: these are the names that a careless lookup trips over. */
const ODD_NAMES = ['constructor', '__proto__', 'toString', 'a/b', 'x:y', 'workload', 'output', 'event'];
export const RETRY_ATTEMPTS = 6;

export function randomGraph(random: Random): RandomGraph {
  const count = random.between(1, 14);
  const acyclic = random.chance(0.6);
  const definesEnd = random.chance(0.4);
  const names = Array.from({ length: count }, (_, index) => stepName(random, index));
  const shape: Shape = {
    names,
    acyclic,
    definesEnd,
    density: random.pick([1, 1.5, 2.2, 3]),
    trouble: random.pick([0, 0, 0.15, 0.4]),
    loops: random.pick([0, 0.2, 0.5]),
    pipelines: random.pick([0, 0.3]),
  };
  const plans = names.map((_, index) => planStep(random, shape, index));
  if (definesEnd) plans.push(plainPlan('end', random, shape));
  const finalStep = random.chance(0.15) ? 'wrap_up' : undefined;
  if (finalStep !== undefined) plans.push(plainPlan(finalStep, random, shape));
  const playbook: Playbook = {
    apiVersion: 'noetl.io/v2',
    kind: 'Playbook',
    metadata: { name: 'simulated', path: 'simulated', labels: {}, extra: {} },
    workload: {},
    keychain: [],
    executor: {
      entryStep: names[0] as string,
      ...(finalStep === undefined ? {} : { finalStep }),
      noNextIsError: random.chance(0.1),
    },
    // Document order must not matter to anything but ties.
    steps: shuffled(random, plans).map((plan) => modelOf(plan, names[0] as string)),
  };
  const workload: Workload = {
    low: random.between(0, 3),
    high: random.between(0, 3),
    flag: random.chance(0.5),
    // What comes from outside is data, also when it looks like a template.
    list: Array.from({ length: random.pick([0, 1, 3, 5, 7]) }, (_, index) =>
      random.pick([`item ${index}`, '{{ nothing }}']),
    ),
  };
  return { playbook, plans, workload, acyclic };
}

interface Shape {
  readonly names: readonly string[];
  readonly acyclic: boolean;
  readonly definesEnd: boolean;
  readonly density: number;
  readonly trouble: number;
  readonly loops: number;
  readonly pipelines: number;
}

function stepName(random: Random, index: number): string {
  return random.chance(0.02) && index < ODD_NAMES.length ? (ODD_NAMES[index] as string) : `s${index}`;
}

function planStep(random: Random, shape: Shape, index: number): StepPlan {
  const { names, trouble } = shape;
  const name = names[index] as string;
  const guard = index > 0 && random.chance(0.12) ? conditionFor(random, name, 'guard') : undefined;
  const fails = random.chance(trouble);
  const work = planWork(random, shape, fails);
  // An item is not tried again by its step, so `retry` would be one more word for `fail`.
  const onError = fails
    ? random.pick(['fail', 'fail', 'continue', work.loop === undefined ? 'retry' : 'fail'] as const)
    : 'fail';
  const arcs: PlannedArc[] = [];
  const forward = names.length - 1 - index;
  const wanted = Math.round(random.next() * shape.density * 2);
  for (let arc = 0; arc < wanted; arc++) {
    const to =
      forward > 0 && random.chance(0.9) ? (names[index + random.between(1, Math.min(forward, 5))] as string) : 'end';
    const special = work.loop !== undefined ? 'loop' : work.pipeline?.updates === true ? 'piped' : 'arc';
    const use = random.chance(0.3) ? special : 'arc';
    const when = random.chance(0.45) ? conditionFor(random, name, use) : undefined;
    arcs.push({ to, ...(when === undefined ? {} : { when }) });
  }
  if (fails && random.chance(0.6)) {
    const to = forward > 0 ? (names[index + random.between(1, forward)] as string) : 'end';
    arcs.splice(random.between(0, arcs.length), 0, { to, when: conditionFor(random, name, 'error') });
  }
  // Backward arcs ask the counter of their own step; a guarded visit would not count, so it has none.
  const counts = !shape.acyclic && guard === undefined && random.chance(0.35);
  for (let arc = counts ? random.between(1, 2) : 0; arc > 0; arc--) {
    const to = names[random.between(Math.max(0, index - 5), index)] as string;
    arcs.splice(random.between(0, arcs.length), 0, { to, when: conditionFor(random, name, 'again') });
  }
  return {
    name,
    ...(guard === undefined ? {} : { guard }),
    mode: random.chance(0.5) ? 'exclusive' : 'inclusive',
    arcs,
    onError,
    failFast: fails && random.chance(0.3),
    idempotent: !random.chance(0.1),
    failures:
      !fails || work.loop !== undefined
        ? 0
        : onError === 'retry' && random.chance(0.7)
          ? random.between(1, 2)
          : Number.POSITIVE_INFINITY,
    raises: random.chance(0.5),
    value: random.between(0, 3),
    counts,
    ...work,
  };
}

function planWork(random: Random, shape: Shape, fails: boolean): Pick<StepPlan, 'loop' | 'pipeline'> {
  return {
    ...(random.chance(shape.loops) ? { loop: planLoop(random, fails) } : {}),
    ...(random.chance(shape.pipelines) ? { pipeline: planPipeline(random) } : {}),
  };
}

function plainPlan(name: string, random: Random, shape: Shape): StepPlan {
  return {
    name,
    mode: 'exclusive',
    arcs: [],
    onError: 'fail',
    failFast: false,
    idempotent: true,
    failures: 0,
    raises: false,
    value: random.between(0, 3),
    counts: false,
    ...planWork(random, shape, false),
  };
}

function modelOf(plan: StepPlan, entry: string): Step {
  const { name } = plan;
  const when: Condition | undefined = plan.guard?.source;
  return {
    name,
    tool: toolOf(plan),
    ...(plan.loop === undefined ? {} : { loop: plan.loop.model }),
    input: inputOf(plan),
    set: {
      ...(name === entry ? { 'ctx.made': '{{ workload.list }}' } : {}),
      [`ctx.seen.${name}`]: '{{ workload.low }}',
      ...(plan.counts ? { [`ctx.visits.${name}`]: `{{ (ctx.visits["${name}"] | default(0) | int) + 1 }}` } : {}),
    },
    ...(when === undefined ? {} : { when }),
    next: {
      mode: plan.mode,
      declared: plan.arcs.length > 0,
      arcs: plan.arcs.map((arc, index) => ({
        to: arc.to,
        ...(arc.when === undefined ? {} : { when: arc.when.source }),
        set: index === 0 ? { [`ctx.left.${name}`]: '{{ output.status }}' } : {},
        args: index % 2 === 0 ? { [`from_${name}`]: '{{ workload.high }}' } : {},
        at: AT,
      })),
    },
    spec: {
      onError: plan.onError,
      failFast: plan.failFast,
      idempotent: plan.idempotent,
      ...(plan.onError === 'retry' ? { maxAttempts: RETRY_ATTEMPTS } : {}),
    },
    at: AT,
  };
}

function shuffled<T>(random: Random, items: readonly T[]): T[] {
  if (random.chance(0.5)) return [...items];
  const order = items.map((item) => ({ item, key: random.next() }));
  return order.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
