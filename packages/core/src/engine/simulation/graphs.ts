// Random playbooks. Each carries, beside the model the engine runs, a plan that says in plain TypeScript what its conditions mean
// and what its tools will answer: the oracle reads the plan, never the engine's templates.
import type { Condition, Playbook, Step } from '../../playbook/model.js';
import { conditionFor, type PlannedCondition, type Workload } from './conditions.js';
import { expectedOf } from './oracle.js';
import { type ChildPlan, planChild, planWait, type WaitPlan } from './parked.js';
import type { Random } from './random.js';
import { planTable, type TablePlan } from './tables.js';
import {
  inputOf,
  isParked,
  type LoopPlan,
  type PipelinePlan,
  planLoop,
  planParkedLoop,
  planPipeline,
  RETRY_ATTEMPTS,
  toolOf,
} from './work.js';

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
  readonly table?: TablePlan;
  readonly pipeline?: PipelinePlan;
  readonly wait?: WaitPlan;
  readonly child?: ChildPlan;
  /** A worker may have it for `TIME_LIMIT` seconds. */
  readonly limited: boolean;
  /** Its worker takes it and never comes back: only its deadline ends it. */
  readonly hangs: boolean;
}

export interface RandomGraph {
  readonly playbook: Playbook;
  readonly plans: readonly StepPlan[];
  readonly workload: Workload;
  readonly acyclic: boolean;
  /** It starts itself: only the limit of depth ends it. */
  readonly endless?: boolean;
}

const AT = { line: 1, column: 1 };
/** A step may be called anything: these are the names that a careless lookup trips over. */
const ODD_NAMES = ['constructor', '__proto__', 'toString', 'a/b', 'x:y', 'workload', 'output', 'event'];

/** Seconds that a worker may take for a step with a deadline. */
export const TIME_LIMIT = 600;

/** `level`: 0 for the playbook that a run starts with, 1 for its children, and so on. */
export function randomGraph(random: Random, level = 0): RandomGraph {
  const count = random.between(1, level > 0 ? 3 : random.pick([4, 8, 14]));
  const acyclic = level > 0 || random.chance(0.6);
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
    waits: random.pick([0, 0, 0.1, 0.4]),
    tables: random.pick([0, 0, 0.1, 0.3]),
    children: level > 1 ? 0 : random.pick([0, 0, 0.15, 0.3]) / (level + 1),
    level,
  };
  const plans = names.map((_, index) => planStep(random, shape, index));
  if (definesEnd) plans.push(plainPlan('end', random, shape));
  const finalStep = random.chance(0.15) ? 'wrap_up' : undefined;
  if (finalStep !== undefined) plans.push(plainPlan(finalStep, random, shape));
  const playbook: Playbook = {
    apiVersion: 'noetl.io/v2',
    kind: 'Playbook',
    metadata: { name: 'simulated', path: level === 0 ? 'simulated' : `child/${random.next()}`, labels: {}, extra: {} },
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
      // A parent's step would render it when it hands it over.
      random.pick([`item ${index}`, level === 0 ? '{{ nothing }}' : 'nothing']),
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
  readonly waits: number;
  readonly tables: number;
  readonly children: number;
  readonly level: number;
}

function stepName(random: Random, index: number): string {
  return random.chance(0.02) && index < ODD_NAMES.length ? (ODD_NAMES[index] as string) : `s${index}`;
}

function planStep(random: Random, shape: Shape, index: number): StepPlan {
  const { names, trouble } = shape;
  const name = names[index] as string;
  const guard = index > 0 && random.chance(0.12) ? conditionFor(random, name, 'guard') : undefined;
  const troubled = random.chance(trouble);
  const work = planWork(random, shape, troubled);
  const fails = work.child?.fails ?? work.wait?.fails ?? troubled;
  const loops = work.loop !== undefined || work.table !== undefined;
  const onError = onErrorOf(random, work, fails);
  const base = { name, value: random.between(0, 3), ...work };
  const arcs: PlannedArc[] = [];
  const forward = names.length - 1 - index;
  const wanted = Math.round(random.next() * shape.density * 2);
  for (let arc = 0; arc < wanted; arc++) {
    const to =
      forward > 0 && random.chance(0.9) ? (names[index + random.between(1, Math.min(forward, 5))] as string) : 'end';
    const special = loops ? 'loop' : work.pipeline?.updates === true ? 'piped' : isParked(base) ? 'parked' : 'arc';
    const use = random.chance(0.3) ? special : isParked(base) ? 'parked' : 'arc';
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
  const hangs = fails && !loops && !isParked(base) && random.chance(0.2);
  return {
    ...base,
    ...(guard === undefined ? {} : { guard }),
    mode: random.chance(0.5) ? 'exclusive' : 'inclusive',
    arcs,
    onError,
    failFast: fails && random.chance(0.3),
    idempotent: !random.chance(0.1),
    failures:
      !fails || loops
        ? 0
        : onError === 'retry' && !isParked(base) && !hangs && random.chance(0.7)
          ? random.between(1, 2)
          : Number.POSITIVE_INFINITY,
    limited: hangs || random.chance(0.15),
    hangs,
    raises: random.chance(0.5),
    counts,
  };
}

function onErrorOf(random: Random, { loop, child }: PlannedWork, fails: boolean): Step['spec']['onError'] {
  if (!fails) return (loop?.shaky.size ?? 0) > 0 ? 'retry' : 'fail';
  // Each further attempt of a child is a whole execution, or many.
  return random.pick(['fail', 'fail', 'continue', child === undefined ? 'retry' : 'fail'] as const);
}

type PlannedWork = Pick<StepPlan, 'loop' | 'table' | 'pipeline' | 'wait' | 'child'>;

function planWork(random: Random, shape: Shape, fails: boolean): PlannedWork {
  const kind = random.next();
  if (kind < shape.waits) {
    const wait = planWait(random, fails);
    return { wait, ...(random.chance(shape.loops / 2) ? { loop: planParkedLoop(random, wait.fails) } : {}) };
  }
  if (kind < shape.waits + shape.tables) return { table: planTable(random, fails) };
  if (random.chance(shape.children)) {
    const graph = random.chance(0.03) ? endlessGraph() : randomGraph(random, shape.level + 1);
    const child = planChild(random, graph, graph.endless === true || expectedOf(graph).status === 'FAILED');
    const loops = shape.level === 0 && graph.endless !== true && random.chance(0.2);
    return { child, ...(loops ? { loop: planParkedLoop(random, child.fails) } : {}) };
  }
  return {
    ...(random.chance(shape.loops) ? { loop: planLoop(random, fails) } : {}),
    ...(random.chance(shape.pipelines) ? { pipeline: planPipeline(random) } : {}),
  };
}

function plainPlan(name: string, random: Random, shape: Shape): StepPlan {
  const work = planWork(random, { ...shape, children: 0 }, false);
  return {
    name,
    mode: 'exclusive',
    arcs: [],
    onError: onErrorOf(random, work, false),
    failFast: false,
    idempotent: true,
    failures: 0,
    raises: false,
    value: random.between(0, 3),
    counts: false,
    limited: false,
    hangs: false,
    ...work,
  };
}

/** A playbook that starts itself, and waits. */
function endlessGraph(): RandomGraph {
  const workload: Workload = { low: 0, high: 0, flag: false, list: [] };
  const child: ChildPlan = {
    config: { path: 'endless', wait: true },
    get graph() {
      return graph;
    },
    waits: true,
    fails: true,
  };
  const plan: StepPlan = {
    name: 's0',
    mode: 'exclusive',
    arcs: [],
    onError: 'fail',
    failFast: false,
    idempotent: true,
    failures: Number.POSITIVE_INFINITY,
    raises: true,
    value: 0,
    counts: false,
    limited: false,
    hangs: false,
    child,
  };
  const playbook: Playbook = {
    apiVersion: 'noetl.io/v2',
    kind: 'Playbook',
    metadata: { name: 'endless', path: 'endless', labels: {}, extra: {} },
    workload: {},
    keychain: [],
    executor: { entryStep: 's0', noNextIsError: false },
    steps: [modelOf(plan, '')],
  };
  const graph: RandomGraph = { playbook, plans: [plan], workload, acyclic: true, endless: true };
  return graph;
}

function modelOf(plan: StepPlan, entry: string): Step {
  const { name } = plan;
  const when: Condition | undefined = plan.guard?.source;
  return {
    name,
    tool: toolOf(plan),
    ...loopOf(plan),
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
      ...(plan.limited && !isParked(plan) ? { timeoutSeconds: TIME_LIMIT } : {}),
      ...(plan.onError === 'retry' ? { maxAttempts: RETRY_ATTEMPTS } : {}),
    },
    at: AT,
  };
}

function loopOf({ loop, table }: StepPlan): Pick<Step, 'loop'> {
  const model = loop?.model ?? table?.model;
  return model === undefined ? {} : { loop: model };
}

function shuffled<T>(random: Random, items: readonly T[]): T[] {
  if (random.chance(0.5)) return [...items];
  const order = items.map((item) => ({ item, key: random.next() }));
  return order.sort((a, b) => a.key - b.key).map(({ item }) => item);
}
