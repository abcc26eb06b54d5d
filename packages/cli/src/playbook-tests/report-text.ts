// Test results for a person: a line for each test, and for a failure what was expected, what came, and how it came about.
import { type Palette, sanitise } from '../terminal.js';
import type { Coverage } from './coverage.js';
import type { FileOutcome, TestOutcome } from './run-file.js';
import type { Moment } from './timeline.js';
import type { DiffLine, Mismatch } from './verdict.js';
import { shortDuration } from './words.js';

/** A timeline is for reading: of a long one the end, where it went wrong. */
const MAX_MOMENTS = 40;

export function testLines(test: TestOutcome, file: string, paint: Palette): string[] {
  const mark = test.passed ? paint.green('✓') : paint.red('✗');
  const title = `  ${mark} ${sanitise(test.name)}  ${paint.dim(`${test.milliseconds} ms`)}`;
  if (test.passed) return [title];
  return [
    title,
    `      ${paint.dim(`${file}:${test.at.line}:${test.at.column}   - expected  + actual`)}`,
    ...orderOf(test).map((order) => `      ${paint.yellow(order)}`),
    '',
    ...test.mismatches.flatMap((mismatch) => mismatchLines(mismatch, paint)),
    '',
    ...timelineLines(test.timeline, paint),
    '',
  ];
}

function orderOf({ seed, dependsOnOrder }: TestOutcome): string[] {
  if (seed === undefined) return [];
  if (dependsOnOrder !== true) return [`in the order of --seed ${seed}`];
  return [`passes in the usual order, fails in another: run it again with --seed ${seed}`];
}

export function coverageLines({ steps, arcs }: Coverage, details: boolean, paint: Palette): string[] {
  const ratio = (all: readonly { count: number }[]) =>
    `${all.filter(({ count }) => count > 0).length} of ${all.length}`;
  const arc = ({ from, to }: Coverage['arcs'][number]) => `${from} → ${to}`;
  const total = `  ${paint.dim(`coverage  ${ratio(steps)} steps, ${ratio(arcs)} arcs`)}`;
  if (details) {
    const row = (line: number, count: number, what: string) => {
      const times = count === 0 ? paint.yellow('never') : paint.dim(`${count}×`.padStart(5));
      return `    ${paint.dim(`line ${line}`.padEnd(9))} ${times}  ${sanitise(what)}`;
    };
    return [
      total,
      ...steps.map(({ name, line, count }) => row(line, count, name)),
      ...arcs.map((one) => row(one.line, one.count, arc(one))),
    ];
  }
  const unreached = (label: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`  ${paint.dim(label)}  ${sanitise(names.join(', '))}`];
  return [
    total,
    ...unreached(
      'no test reaches step',
      steps.filter(({ count }) => count === 0).map(({ name }) => name),
    ),
    ...unreached('no test takes arc   ', arcs.filter(({ count }) => count === 0).map(arc)),
  ];
}

export function totalLine(files: readonly FileOutcome[], paint: Palette): string {
  const tests = files.flatMap((file) => file.tests);
  const failed = tests.filter(({ passed }) => !passed).length;
  const failedText = `${failed} failed`;
  return `${paint.green(`${tests.length - failed} passed`)}, ${failed > 0 ? paint.red(failedText) : failedText}`;
}

function mismatchLines({ check, lines }: Mismatch, paint: Palette): string[] {
  return [`      ${paint.bold(sanitise(check))}`, ...lines.map((line) => `        ${diffLine(line, paint)}`)];
}

function diffLine({ sign, text }: DiffLine, paint: Palette): string {
  const line = `${sign} ${sanitise(text)}`;
  if (sign === '-') return paint.green(line);
  return sign === '+' ? paint.red(line) : line;
}

function timelineLines(timeline: readonly Moment[], paint: Palette): string[] {
  const shown = timeline.slice(-MAX_MOMENTS);
  const rows = shown.map(({ afterMs, playbook, step, text }) => ({
    time: shortDuration(afterMs),
    step: sanitise(playbook === undefined ? step : `${playbook} ${step}`),
    text: sanitise(text),
  }));
  const width = (key: 'time' | 'step') => Math.max(0, ...rows.map((row) => row[key].length));
  const [time, step] = [width('time'), width('step')];
  const left = timeline.length - shown.length;
  const colour = (text: string) => (/^FAILED|failed: /.test(text) ? paint.red(text) : text);
  return [
    `      ${paint.bold('timeline')}`,
    ...(left > 0 ? [`        ${paint.dim(`… ${left} earlier moments`)}`] : []),
    ...rows.map(
      (row) =>
        `        ${paint.dim(row.time.padStart(time))}  ${paint.cyan(row.step.padEnd(step))}  ${colour(row.text)}`,
    ),
  ];
}
