// Names in templates that nothing in the playbook defines. A start request may still bring them, so this is only a warning; mostly it is a
// slip of the pen, which would otherwise show as an empty value in the middle of a run.
import type { JsonObject } from '../json/types.js';
import type { Playbook, Step, Task } from './model.js';
import type { ScalarNode } from './node.js';
import type { Report } from './report.js';
import { fieldOf } from './scope.js';
import type { Source } from './source.js';
import { closest } from './suggest.js';
import { locate } from './templates.js';

/** One template of the document and the names it reads. */
export interface Mention {
  readonly node: ScalarNode;
  readonly text: string;
  readonly names: readonly string[];
  /** Starts the message: `Step 'fetch': `, or nothing. */
  readonly subject: string;
}

/** What the engine and the worker provide (docs/playbook.md). */
const PROVIDED =
  'workload ctx vars steps execution_id catalog_id job path server_url env keychain args input output outcome result response results error event step step_name command_id iter loop loop_index frame _index _total _prev _task _attempt __frame_max_rows __now__'.split(
    ' ',
  );

/** Lints are a courtesy: on a playbook full of such names they stop rather than make the author wait. */
const MAX_TOLD = 200;
const MAX_SEARCHED = 20_000_000;

/** Scripts have names of their own: braces in them are left alone unless every name is known. */
const SCRIPT = /\.(?:code|script)(?=[.[]|$)/;

export function warnUnknownVariables(
  playbook: Pick<Playbook, 'workload' | 'steps'>,
  mentions: readonly Mention[],
  source: Source,
  report: Report,
): void {
  const known = new Set([...PROVIDED, ...Object.keys(playbook.workload), ...playbook.steps.flatMap(namesOf)]);
  let told = 0;
  let searched = 0;
  for (const { node, text, names, subject } of mentions) {
    if (SCRIPT.test(node.path)) continue;
    for (const name of names) {
      if (known.has(name)) continue;
      searched += text.length;
      if (told >= MAX_TOLD || searched > MAX_SEARCHED) return;
      if (mayBeAbsent(text, name)) continue;
      told++;
      const place = { path: node.path, at: locate(source, node, placeOf(text, name)) };
      const message = `${subject}${fieldOf(node)} reads \`${name}\`, which nothing in this playbook defines`;
      report.warning('template.unknown-variable', message, place, hintFor(name, known));
    }
  }
}

function hintFor(name: string, known: ReadonlySet<string>): string {
  const meant = closest(name, known);
  return meant === undefined
    ? `if the start request brings it, give it a default under \`workload\`; else write \`${name} | default(…)\``
    : `did you mean \`${meant}\`?`;
}

function namesOf(step: Step): string[] {
  const tasks: readonly Task[] = step.tool.type === 'single' ? [step.tool.task] : step.tool.tasks;
  return [
    step.name,
    ...(step.loop === undefined ? [] : [step.loop.iterator]),
    ...Object.keys(step.input),
    ...setNames(step.set),
    ...step.next.arcs.flatMap((arc) => [...setNames(arc.set), ...Object.keys(arc.args)]),
    ...tasks.flatMap((task) => [
      task.label,
      ...Object.keys(task.input),
      ...setNames(task.set),
      ...task.policy.flatMap((rule) => setNames(rule.set)),
    ]),
  ];
}

/** `ctx.total` and `total.net` can both be read as `total`. */
function setNames(set: JsonObject): string[] {
  return Object.keys(set).map((key) => key.replace(/^ctx\./, '').split('.')[0] ?? key);
}

/** The author knows that it may be missing: `x | default(1)`, `x is defined`, `x or y`, `… if x else …`. */
function mayBeAbsent(text: string, name: string): boolean {
  const path = `${bare(name)}[\\w.[\\]'"]{0,200}`;
  return new RegExp(`${path}\\s*(?:\\|\\s*(?:default|d)\\b|is\\s+|or\\b)|\\b(?:if|or)\\s+${path}\\s*(?:else|%})`).test(
    text,
  );
}

/** 1-based, within the template. */
function placeOf(text: string, name: string): { line: number; column: number } {
  const before = text.slice(0, Math.max(0, text.search(new RegExp(`${bare(name)}\\b`)))).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** The name itself: not a field of that name, nor a text. */
function bare(name: string): string {
  return `(?<![\\w.'"])${name}`;
}
