// A playbook made ready to run: graph facts and every template compiled, once per catalog version.
// Compiling can fail only for a playbook that validation would refuse.

import type { Json, JsonObject } from '../json/types.js';
import type { Arc, Playbook, Step, Task } from '../playbook/model.js';
import {
  type Condition,
  compileCondition,
  compileTemplate,
  compileValue,
  isTemplate,
  type Template,
  type ValueTemplate,
} from '../template/index.js';
import { buildGraph, type Graph } from './graph.js';

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
  readonly arcs: readonly CompiledArc[];
  readonly task: CompiledTask;
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

export interface CompiledTask {
  readonly task: Task;
  readonly input: ValueTemplate;
  readonly config: ValueTemplate;
  /** Source code of a script: rendered only when every name in it is known, else it is the author's own braces. */
  readonly code: Template | undefined;
  /** The code asks for the whole `context`. */
  readonly wantsContext: boolean;
}

/** Fields that are text for another interpreter: a number inside them stays text. */
const TEXT_FIELDS: ReadonlySet<string> = new Set([
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
  return {
    step,
    index,
    when: step.when === undefined ? undefined : compileCondition(step.when),
    admit: (step.admit ?? []).map((rule) => ({ when: compileCondition(rule.when ?? true), allow: rule.allow })),
    toolSet: step.tool.type === 'single' ? entries(step.tool.task.set) : [],
    set: entries(step.set),
    arcs,
    task: compileTask(step),
  };
}

function compileTask(step: Step): CompiledTask {
  const task = step.tool.type === 'single' ? step.tool.task : undefined;
  if (task === undefined) throw new Error(`step '${step.name}': pipelines are not compiled here`);
  const { code, ...config } = task.config;
  const source = typeof code === 'string' ? code : undefined;
  return {
    task,
    input: compileValue({ ...step.input, ...task.input }),
    config: compileValue(source === undefined ? task.config : config, { textKeys: TEXT_FIELDS }),
    code: source === undefined ? undefined : compileCode(source),
    wantsContext: source !== undefined && /\b(context|variables)\b/.test(source),
  };
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
