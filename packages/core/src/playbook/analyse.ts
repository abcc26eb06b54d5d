// Lints over the step graph: legal playbooks that probably do not do what their author wants.
import type { Arc, Executor, Position, Router, Step } from './model.js';
import type { Report } from './report.js';
import { END_STEP } from './router.js';

// Lints are a courtesy: on a huge graph they stop rather than make the author wait.
const MAX_VISITS = 1_000_000;

export interface Workflow {
  readonly steps: readonly Step[];
  readonly executor: Executor;
}

export function analyse(workflow: Workflow, report: Report): void {
  const index = new Map(workflow.steps.map((step, i) => [step.name, { step, path: `workflow[${i}]` }]));
  const targets = new Map(workflow.steps.map((step) => [step.name, successors(step, index)]));
  warnUnreachable(workflow, targets, report);
  const budget = { visits: MAX_VISITS };
  for (const { step, path } of index.values()) {
    warnShadowedArcs(step, path, report);
    warnFanOutWithoutJoin(step, path, targets, budget, report);
  }
}

/** A step without `next` leads to `end` when the playbook defines it. */
function successors(step: Step, index: ReadonlyMap<string, unknown>): readonly string[] {
  if (!step.next.declared) return step.name !== END_STEP && index.has(END_STEP) ? [END_STEP] : [];
  return [...new Set(step.next.arcs.map((arc) => arc.to))].filter((name) => index.has(name));
}

type Targets = ReadonlyMap<string, readonly string[]>;

function warnUnreachable({ steps, executor }: Workflow, targets: Targets, report: Report): void {
  const reached = new Set<string>();
  const queue = executor.finalStep === undefined ? [executor.entryStep] : [executor.entryStep, executor.finalStep];
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (reached.has(name)) continue;
    reached.add(name);
    queue.push(...(targets.get(name) ?? []));
  }
  for (const [i, step] of steps.entries()) {
    if (reached.has(step.name)) continue;
    report.warning(
      'step.unreachable',
      `Step '${step.name}' can never run: no path leads to it from '${executor.entryStep}'`,
      { path: `workflow[${i}]`, at: step.at },
      'add an arc to it, or remove it',
    );
  }
}

function warnShadowedArcs(step: Step, path: string, report: Report): void {
  if (step.next.mode !== 'exclusive') return;
  const always = step.next.arcs.findIndex(isUnconditional);
  if (always === -1) return;
  const winner = step.next.arcs[always];
  for (const arc of step.next.arcs.slice(always + 1)) {
    report.warning(
      'router.shadowed-arc',
      `Step '${step.name}': the arc to '${arc.to}' can never be taken after the unconditional arc to '${winner?.to}'`,
      arcPlace(path, step.next, arc),
      'move the unconditional arc to the end, or use `mode: inclusive`',
    );
  }
}

function isUnconditional(arc: Arc): boolean {
  return arc.when === undefined || arc.when === true;
}

function arcPlace(path: string, next: Router, arc: Arc): { path: string; at: Position } {
  return { path: `${path}.next.arcs[${next.arcs.indexOf(arc)}]`, at: arc.at };
}

function warnFanOutWithoutJoin(
  step: Step,
  path: string,
  targets: Targets,
  budget: { visits: number },
  report: Report,
): void {
  const branches = targets.get(step.name) ?? [];
  if (step.next.mode !== 'inclusive' || branches.length < 2) return;
  if (branchesMeet(step.name, branches, targets, budget)) return;
  report.warning(
    'router.fan-out-without-join',
    `[fanout_no_reducer] fan-out '${step.name}' has no reachable reducer`,
    { path: `${path}.next`, at: step.next.arcs[0]?.at ?? step.at },
    'let the branches lead to one common step that needs all their results',
  );
}

/** Colours the graph from every branch at once: an edge between two colours is a step that two branches reach. */
function branchesMeet(origin: string, branches: readonly string[], targets: Targets, budget: { visits: number }) {
  const colour = new Map(branches.map((branch) => [branch, branch]));
  const queue = [...branches];
  for (let at = 0; at < queue.length; at++) {
    const name = queue[at] ?? '';
    // Through the fan-out itself a branch would reach its siblings, which is a loop and not a join.
    if (name === origin) continue;
    for (const target of targets.get(name) ?? []) {
      if (--budget.visits < 0) return true;
      const seen = colour.get(target);
      if (seen === undefined) {
        colour.set(target, colour.get(name) ?? name);
        queue.push(target);
      } else if (seen !== colour.get(name)) {
        return true;
      }
    }
  }
  return false;
}
