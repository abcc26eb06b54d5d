// What the steps of a random playbook do beside one plain tool: loop over a collection, or run a list of tools. Each plan says how it
// is written, what it must come to, and what the simulated worker answers.
import type { Json, JsonObject } from '../../json/types.js';
import type { Loop, Step, StepTool, Task } from '../../playbook/model.js';
import type { Workload } from './conditions.js';
import type { ChildPlan, WaitPlan } from './parked.js';
import type { Random } from './random.js';
import { type TablePlan, tableOutcome } from './tables.js';

export interface LoopPlan {
  readonly model: Loop;
  /** Undefined: there is nothing to go through, the step fails before its first item. `made`: `ctx.made` was written. */
  readonly itemsOf: (workload: Workload, made: boolean) => readonly Json[] | undefined;
  readonly windowOf: (workload: Workload) => number;
  /** Indexes at which the tool fails. */
  readonly bad: ReadonlySet<number>;
  /** Indexes at which it fails at the first attempt only, when its step tries again. */
  readonly shaky: ReadonlySet<number>;
  /** Index at which the input cannot be rendered. */
  readonly unrenderable: number | undefined;
}

export interface PipelinePlan {
  /** One tool with a policy has no labels: its result is not nested. */
  readonly labels: readonly string[];
  /** Writes `ctx.piped.<step>`. */
  readonly updates: boolean;
}

interface Work {
  readonly name: string;
  readonly value: number;
  readonly loop?: LoopPlan;
  readonly table?: TablePlan;
  readonly pipeline?: PipelinePlan;
  readonly wait?: WaitPlan;
  readonly child?: ChildPlan;
}

/** No worker runs it. */
export function isParked({ wait, child }: Work): boolean {
  return wait !== undefined || child !== undefined;
}

/** Which piece of work: the visit, and the item when the step loops. */
export interface Piece {
  readonly run: number;
  readonly index: number | null;
}

const AT = { line: 1, column: 1 };
const MOST_ITEMS = 7;
export const RETRY_ATTEMPTS = 6;
/** What the engine takes for a parallel loop that names no window. */
export const WIDE = 1_000;

/** A loop whose items all end alike, because they wait for the same. */
export function planParkedLoop(random: Random, fails: boolean): LoopPlan {
  const loop = planLoop(random, false);
  const bad = new Set(fails ? indexes(MOST_ITEMS) : []);
  return { ...loop, bad, shaky: new Set(), unrenderable: undefined };
}

export function planLoop(random: Random, troubled: boolean): LoopPlan {
  const onError = random.pick(['stop', 'continue', 'fail_fast'] as const);
  const breaks = troubled || (onError === 'continue' && random.chance(0.5));
  const mode = random.chance(0.4) ? 'sequential' : 'parallel';
  const { over, itemsOf } = random.pick(collections(random, troubled));
  const { written, windowOf } = random.pick(windows(random));
  const iterator = random.chance(0.04) ? random.pick(['constructor', '__proto__', 'args', 'loop']) : 'item';
  const bad = new Set<number>();
  for (let index = 0; breaks && index < MOST_ITEMS; index++) if (random.chance(0.3)) bad.add(index);
  const shaky = new Set(
    random.chance(0.2) ? indexes(MOST_ITEMS).filter((index) => !bad.has(index) && random.chance(0.4)) : [],
  );
  return {
    model: { iterator, mode, in: over, onError, frame: {}, ...(written === undefined ? {} : { maxInFlight: written }) },
    itemsOf,
    windowOf: mode === 'sequential' ? () => 1 : windowOf,
    bad,
    shaky,
    unrenderable: breaks && random.chance(0.15) ? random.between(0, 3) : undefined,
  };
}

type Collection = { readonly over: Json; readonly itemsOf: LoopPlan['itemsOf'] };

function collections(random: Random, troubled: boolean): Collection[] {
  const list: Json[] = Array.from({ length: random.between(2, 7) }, (_, index) => random.pick(ODD_ITEMS) ?? index);
  const count = random.between(0, 6);
  const known: Collection[] = [
    { over: list, itemsOf: () => list },
    { over: [], itemsOf: () => [] },
    { over: count, itemsOf: () => indexes(count) },
    { over: '{{ workload.list }}', itemsOf: ({ list }) => list },
    { over: '{{ workload.high }}', itemsOf: ({ high }) => indexes(high) },
    { over: '{{ workload.list[:workload.low] }}', itemsOf: ({ list, low }) => list.slice(0, low) },
    { over: '{{ ctx.made | default([]) }}', itemsOf: ({ list }, made) => (made ? list : []) },
  ];
  return troubled ? [...known, { over: '{{ workload.flag }}', itemsOf: () => undefined }] : known;
}

const ODD_ITEMS: readonly (Json | undefined)[] = [undefined, undefined, 'a', null, { k: [1] }, '', false];
const indexes = (count: number) => Array.from({ length: count }, (_, index) => index);

function windows(random: Random): { written: number | string | undefined; windowOf: LoopPlan['windowOf'] }[] {
  const width = random.between(1, 4);
  return [
    { written: undefined, windowOf: () => WIDE },
    { written: width, windowOf: () => width },
    { written: '{{ workload.high + 1 }}', windowOf: ({ high }) => high + 1 },
  ];
}

export function planPipeline(random: Random): PipelinePlan {
  const odd = random.chance(0.05);
  const labels = random.pick([
    [],
    ['fetch'],
    // Such keys come first in an object, in numeric order, whatever the order of the tasks.
    ['2', '1'],
    ['fetch', odd ? '__proto__' : 'save'],
    ['a', odd ? 'constructor' : 'b', 'c'],
  ]);
  return { labels, updates: random.chance(0.7) };
}

export function toolOf({ name, pipeline, wait, child }: Work): StepTool {
  if (wait !== undefined) return parkedTool(name, 'wait', wait.config);
  if (child !== undefined) return parkedTool(name, 'playbook', child.config);
  const task = (label: string, policy: Task['policy'] = []): Task => ({
    label,
    kind: 'noop',
    config: {},
    input: { who: name },
    set: {},
    policy,
    at: AT,
  });
  if (pipeline === undefined) return { type: 'single', task: task(name) };
  if (pipeline.labels.length > 0) return { type: 'pipeline', tasks: pipeline.labels.map((label) => task(label)) };
  const rule = { action: 'retry', attempts: 2, backoff: 'none', delaySeconds: 0, set: {} } as const;
  return { type: 'single', task: task(name, [rule]) };
}

function parkedTool(label: string, kind: string, config: JsonObject): StepTool {
  return { type: 'single', task: { label, kind, config, input: {}, set: {}, policy: [], at: AT } };
}

/** Raises at one index: the input of an item is rendered by the server. */
export function inputOf({ loop }: Work): JsonObject {
  return loop?.unrenderable === undefined ? {} : { share: `{{ 12 / (_index - ${loop.unrenderable}) }}` };
}

/** What the tool reports when it succeeds. */
export function answerOf(work: Work, piece: Piece): Json {
  const { pipeline } = work;
  if (pipeline === undefined) return resultOf(work, piece);
  const updates = pipeline.updates ? { _context_updates: updatesOf(work, piece) } : {};
  if (pipeline.labels.length === 0) return { ...resultOf(work, piece), ...updates };
  return { ...Object.fromEntries(tasksOf(work, piece)), _pipeline: [...pipeline.labels], ...updates };
}

/** What it reports when it answers with an error: a list of tools may have set something before its last task failed. */
export function errorAnswerOf(work: Work, piece: Piece): Json {
  return work.pipeline?.updates === true ? { _context_updates: updatesOf(work, piece, false) } : null;
}

/** What later steps must see of that answer. */
export function shownValue(work: Work, piece: Piece): Json {
  const labels = work.pipeline?.labels ?? [];
  if (labels.length === 0) return resultOf(work, piece);
  const tasks = tasksOf(work, piece);
  const fields = { task: labels.at(-1) ?? '', ...resultOf(work, piece) };
  const last = tasks.at(-1)?.[1] ?? null;
  return { ...fields, ...Object.fromEntries(tasks), _prev: last, results: Object.fromEntries(tasks) };
}

export function updatesOf({ name, value }: Work, { index }: Piece, ok = true): JsonObject {
  if (!ok) return { [`ctx.piped.${name}`]: 'not finished' };
  return { [`ctx.piped.${name}`]: index === null ? value : `${value} of item ${index}` };
}

function resultOf({ value }: Work, { run, index }: Piece): JsonObject {
  return { value, run, index };
}

/** Only the last task says everything; the others are overridden by it. */
function tasksOf(work: Work, piece: Piece): [string, Json][] {
  const labels = work.pipeline?.labels ?? [];
  return labels.map((label, at) => [
    label,
    at === labels.length - 1 ? { task: label, ...resultOf(work, piece) } : { task: label, value: 'overridden' },
  ]);
}

/** The item fails at first, and its step tries again. */
export function isShaky({ loop, onError }: Work & Pick<Step['spec'], 'onError'>, index: number): boolean {
  return onError === 'retry' && loop?.shaky.has(index) === true;
}

/** How a visit of a loop must end, whatever the order in which its items do. Undefined: the step does not loop. */
export function loopOutcome(
  { loop, table }: Work,
  workload: Workload,
  made: boolean,
): { failed: boolean; lost: number | undefined } | undefined {
  if (table !== undefined) return tableOutcome(table);
  if (loop === undefined) return undefined;
  const items = loop.itemsOf(workload, made);
  if (items === undefined) return { failed: true, lost: undefined };
  const lost = items.filter((_, index) => loop.bad.has(index) || loop.unrenderable === index).length;
  return { failed: lost > 0 && loop.model.onError !== 'continue', lost };
}
