// The step tree as lines of text. Both renderers use it: the live one redraws the whole tree, the plain one prints a line
// whenever a step changes.
import { formatDuration } from '../duration.js';
import { type Palette, sanitise } from '../terminal.js';
import type { StepNode, StepState, TreeState } from './state.js';

export const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const;

export interface Frame {
  readonly palette: Palette;
  /** By the server's clock, to show how long open steps have been running. */
  readonly now: number;
  readonly spinner: string;
}

const marks: Readonly<Record<StepState, string>> = {
  waiting: '·',
  running: '',
  retrying: '↻',
  done: '✔',
  failed: '✘',
  handled: '!',
  skipped: '–',
  cancelled: '■',
};

const words: Readonly<Record<StepState, string>> = {
  waiting: 'waiting',
  running: 'running',
  retrying: 'retrying',
  done: 'done',
  failed: 'failed',
  handled: 'failed, handled',
  skipped: 'skipped',
  cancelled: 'cancelled',
};

export function renderTree(tree: TreeState, frame: Frame): string[] {
  const { palette } = frame;
  const width = Math.max(0, ...tree.steps.map(({ name }) => sanitise(name).length));
  const title = `${palette.bold(sanitise(tree.path))}  ${palette.dim(tree.executionId)}`;
  return [
    title,
    ...tree.steps.flatMap((step, index) => stepLines(step, index === tree.steps.length - 1, width, frame)),
  ];
}

function stepLines(step: StepNode, last: boolean, width: number, frame: Frame): string[] {
  const { palette } = frame;
  const mark =
    step.state === 'running' ? palette.cyan(frame.spinner) : paintState(step.state, palette)(marks[step.state]);
  const name = sanitise(step.name).padEnd(width);
  const time = durationOf(step, frame.now);
  const detail = [stateWords(step), time].filter((part) => part !== '').join('  ');
  const line = `${palette.dim(last ? '└─' : '├─')} ${mark} ${step.state === 'skipped' ? palette.dim(name) : name}  ${palette.dim(detail)}`;
  if (step.error === undefined || (step.state !== 'failed' && step.state !== 'handled')) return [line];
  const paint = step.state === 'failed' ? palette.red : palette.dim;
  return [line, `${palette.dim(last ? '  ' : '│ ')}   ${paint(firstLine(step.error))}`];
}

/** `shared  running  3/10  attempt 2`: what there is to say besides the name. */
export function stateWords(step: StepNode): string {
  const parts = [
    step.state === 'waiting' && step.waitsFor !== undefined ? `waiting ${step.waitsFor}` : words[step.state],
  ];
  if (step.loop !== undefined) {
    const { done, failed, total } = step.loop;
    parts.push(total === undefined ? `${done + failed}` : `${done + failed}/${total}`);
    if (failed > 0) parts.push(`${failed} failed`);
  }
  if (step.attempt > 1) parts.push(`attempt ${step.attempt}`);
  if (step.visits > 1) parts.push(`visit ${step.visits}`);
  return parts.join('  ');
}

export function durationOf(step: StepNode, now: number): string {
  if (step.startedAt === undefined || step.state === 'skipped') return '';
  return formatDuration((step.endedAt ?? now) - step.startedAt);
}

export function paintState(state: StepState, palette: Palette): (text: string) => string {
  switch (state) {
    case 'done':
      return palette.green;
    case 'failed':
      return palette.red;
    case 'handled':
    case 'retrying':
    case 'cancelled':
      return palette.yellow;
    case 'running':
      return palette.cyan;
    case 'waiting':
    case 'skipped':
      return palette.dim;
  }
}

export function plainLine(step: StepNode, nameWidth: number, palette: Palette): string {
  const state = paintState(step.state, palette)(stateWords(step).padEnd(9));
  const time = step.endedAt === undefined ? '' : palette.dim(durationOf(step, step.endedAt));
  const name = sanitise(step.name).padEnd(nameWidth);
  const failed = step.state === 'failed' || step.state === 'handled';
  const error = failed && step.error !== undefined ? firstLine(step.error) : '';
  return [`  ${name}`, state, time, error]
    .filter((part) => part !== '')
    .join('  ')
    .trimEnd();
}

export function firstLine(text: string): string {
  return sanitise(text.trim().split('\n', 1)[0] ?? '');
}
