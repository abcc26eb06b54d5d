// A playbook made ready to run: graph facts and every template compiled, once per catalog version.
// Compiling can fail only for a playbook that validation would refuse.

import type { Json, JsonObject } from '../json/types.js';
import type { Arc, Loop, Playbook, Step, Task } from '../playbook/model.js';
import {
  type Condition,
  compileCondition,
  compileTemplate,
  compileValue,
  isTemplate,
  type Template,
  type ValueTemplate,
} from '../template/index.js';
import { type CompiledEmit, compileEmit } from './emit.js';
import { buildGraph, type Graph } from './graph.js';
import { PIPELINE } from './pipeline-value.js';
import { type Sequence, sequenceOf } from './sequence.js';

export interface CompiledPlaybook {
  readonly playbook: Playbook;
  readonly graph: Graph;
  readonly steps: readonly CompiledStep[];
  readonly workload: readonly CompiledEntry[];
}

export interface CompiledStep {
  readonly step: Step;
  readonly index: number;
  readonly when: Condition | undefined;
  /** First matching rule decides; no rule, or none that matches, admits. */
  readonly admit: readonly { readonly when: Condition; readonly allow: boolean }[];
  /** `set` of the tool itself: there `output` is the tool's bare result. */
  readonly toolSet: readonly CompiledEntry[];
  readonly set: readonly CompiledEntry[];
  readonly emit: readonly CompiledEmit[];
  readonly arcs: readonly CompiledArc[];
  readonly loop: CompiledLoop | undefined;
  readonly toolKind: string;
  /** How long the step may take once a worker has it. */
  readonly timeout: ValueTemplate | undefined;
  /** Step-level and tool-level input, rendered by the server. */
  readonly input: ValueTemplate;
  /** A plain tool, rendered by the server; or a sequence, rendered by the worker. */
  readonly tool: CompiledTool | Sequence;
}

export interface CompiledLoop {
  readonly iterator: string;
  readonly mode: 'sequential' | 'parallel' | 'cursor';
  readonly in: ValueTemplate;
  /** The expression as written, for messages. */
  readonly source: string;
  readonly maxInFlight: ValueTemplate | undefined;
  readonly onError: 'stop' | 'continue' | 'fail_fast';
  readonly cursor?: CompiledCursor;
}

export interface CompiledCursor {
  /** The tool that claims a frame. */
  readonly kind: string;
  readonly config: readonly ValueTemplate[];
  readonly maxRows: ValueTemplate;
  readonly rowConcurrency: ValueTemplate;
  readonly process: ValueTemplate;
}

export interface CompiledArc {
  readonly arc: Arc | undefined;
  readonly when: Condition | undefined;
  /** May fire when the step failed: its condition looks at the outcome. */
  readonly handlesFailure: boolean;
  readonly set: readonly CompiledEntry[];
  /** Undefined when the arc carries none. */
  readonly args: ValueTemplate | undefined;
}

export interface CompiledEntry {
  readonly key: string;
  readonly value: ValueTemplate;
}

export interface CompiledTool {
  readonly task: Task;
  /** Parts of one object. */
  readonly config: readonly ValueTemplate[];
  /** Source code of a script: rendered only when every name in it is known, else it is the author's own braces. */
  readonly code: Template | undefined;
  /** The code asks for the whole `context`. */
  readonly wantsContext: boolean;
}

/** Fields that are text for another interpreter: a number inside them stays text. */
export const TEXT_FIELDS: ReadonlySet<string> = new Set([
  'code',
  'command',
  'cmd',
  'query',
  'url',
  'endpoint',
  'script',
  'sql',
]);

export function compilePlaybook(playbook: Playbook): CompiledPlaybook {
  const graph = buildGraph(playbook);
  return {
    playbook,
    graph,
    steps: playbook.steps.map((step, index) => compileStep(step, index, graph)),
    workload: entries(playbook.workload),
  };
}

function compileStep(step: Step, index: number, graph: Graph): CompiledStep {
  const arcs: CompiledArc[] = step.next.arcs.map((arc) => ({
    arc,
    when: arc.when === undefined ? undefined : compileCondition(arc.when),
    handlesFailure: arc.when !== undefined && looksAtOutcome(arc.when),
    set: entries(arc.set),
    args: Object.keys(arc.args).length === 0 ? undefined : compileValue(arc.args),
  }));
  while (arcs.length < (graph.arcs[index]?.length ?? 0)) {
    arcs.push({ arc: undefined, when: undefined, handlesFailure: false, set: [], args: undefined });
  }
  const sequence = sequenceOf(step);
  // The tasks of a list have limits of their own; the step's is for all of them together.
  const own = sequence === undefined && step.tool.type === 'single' ? step.tool.task.timeoutSeconds : undefined;
  const timeout = own ?? step.spec.timeoutSeconds;
  return {
    step,
    index,
    when: step.when === undefined ? undefined : compileCondition(step.when),
    admit: (step.admit ?? []).map((rule) => ({ when: compileCondition(rule.when ?? true), allow: rule.allow })),
    // A sequence applies the `set` of its tasks itself, in the worker.
    toolSet: sequence === undefined && step.tool.type === 'single' ? entries(step.tool.task.set) : [],
    set: entries(step.set),
    emit: (step.emit ?? []).map(compileEmit),
    arcs,
    loop: step.loop === undefined ? undefined : compileLoop(step.loop),
    toolKind: sequence === undefined && step.tool.type === 'single' ? step.tool.task.kind : PIPELINE,
    timeout: timeout === undefined ? undefined : compileValue(timeout),
    input: compileValue(sequence === undefined ? { ...step.input, ...inputOf(step) } : step.input),
    tool: sequence ?? compileTool(step),
  };
}

function inputOf(step: Step): JsonObject {
  return step.tool.type === 'single' ? step.tool.task.input : {};
}

function compileLoop(loop: Loop): CompiledLoop {
  return {
    iterator: loop.iterator,
    mode: loop.mode,
    in: compileValue(loop.in ?? []),
    source: typeof loop.in === 'string' ? loop.in : 'loop.in',
    maxInFlight: loop.maxInFlight === undefined ? undefined : compileValue(loop.maxInFlight),
    onError: loop.onError,
    ...(loop.cursor === undefined ? {} : { cursor: compileCursor(loop.cursor, loop.frame) }),
  };
}

/** The claim is what the tool runs; everything else in the block is the tool's own configuration. */
function compileCursor({ kind, claim, ...config }: JsonObject, frame: JsonObject): CompiledCursor {
  const run: JsonObject = claim === undefined ? config : { ...config, command: claim };
  return {
    kind: typeof kind === 'string' ? kind : 'postgres',
    config: compileConfig(run),
    maxRows: compileValue(frame.max_rows ?? 1),
    rowConcurrency: compileValue(frame.row_concurrency ?? 1),
    process: compileValue(frame.process ?? 'row'),
  };
}

function compileTool(step: Step): CompiledTool {
  if (step.tool.type !== 'single') throw new Error(`step '${step.name}' is a list of tools`);
  const { task } = step.tool;
  const { code, ...config } = task.config;
  const source = typeof code === 'string' ? code : undefined;
  return {
    task,
    config: compileConfig(source === undefined ? task.config : config),
    code: source === undefined ? undefined : compileCode(source),
    wantsContext: source !== undefined && /\b(context|variables)\b/.test(source),
  };
}

/** Text fields are those of the tool itself: a field called `query` deep inside a request body keeps its type. */
function compileConfig(config: JsonObject): readonly ValueTemplate[] {
  const isText = ([key, value]: [string, Json]) => TEXT_FIELDS.has(key) && typeof value === 'string';
  const fields = Object.entries(config);
  const text = Object.fromEntries(fields.filter(isText));
  const rest = Object.fromEntries(fields.filter((field) => !isText(field)));
  return [compileValue(rest), compileValue(text, { textKeys: TEXT_FIELDS })];
}

function compileCode(source: string): Template | undefined {
  if (!isTemplate(source)) return undefined;
  try {
    return compileTemplate(source);
  } catch {
    return undefined; // doubled braces of the script's own language; validation warned about it
  }
}

/** On failure only an arc that asks about the outcome may fire; an unconditional arc means success. */
function looksAtOutcome(when: string | boolean): boolean {
  return typeof when === 'string' && /\b(event|error|outcome)\b|\boutput\s*(\.\s*(error|status|ok)\b|\[)/.test(when);
}

function entries(values: JsonObject): CompiledEntry[] {
  return Object.entries(values).map(([key, value]: [string, Json]) => ({ key, value: compileValue(value) }));
}
