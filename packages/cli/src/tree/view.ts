// Shows a tree while it changes: redrawn in place for a person at a terminal, one line per step transition for a pipe.
import { type Output, type Palette, sanitise, truncate } from '../terminal.js';
import { plainLine, renderTree, SPINNER } from './render.js';
import type { StepNode, TreeState } from './state.js';

export interface TreeView {
  readonly update: (tree: TreeState) => void;
  /** Leaves the last picture on the screen and gives the cursor back. */
  readonly close: () => void;
}

/** @param names steps that may appear, when they are known: then lines that are already printed stay aligned with later ones */
export function openTreeView(output: Output, palette: Palette, names: readonly string[] = []): TreeView {
  return output.isTTY === true ? liveView(output, palette) : plainView(output, palette, names);
}

const FRAME_MS = 80;
const HIDE_CURSOR = '\u001b[?25l';
const SHOW_CURSOR = '\u001b[?25h';

function liveView(output: Output, palette: Palette): TreeView {
  let tree: TreeState | undefined;
  let drawn = 0;
  let tick = 0;
  // Durations run by the server's clock, which may differ from ours: count from the last event's arrival.
  let clock = { server: Number.NEGATIVE_INFINITY, local: 0 };

  const draw = (fitted: boolean) => {
    if (tree === undefined) return;
    const now = clock.server + (Date.now() - clock.local);
    const lines = renderTree(tree, { palette, now, spinner: SPINNER[tick++ % SPINNER.length] ?? '' });
    const shown = (fitted ? fitToScreen(lines, screenRows(output) - 1) : lines).map((line) =>
      truncate(line, screenColumns(output)),
    );
    output.write(`${eraseLines(drawn)}${shown.join('\n')}\n`);
    drawn = shown.length;
  };

  const showCursor = () => void output.write(SHOW_CURSOR);
  output.write(HIDE_CURSOR);
  // Also after a forced end: a shell without a cursor is a poor farewell.
  process.once('exit', showCursor);
  const timer = setInterval(() => draw(true), FRAME_MS);
  timer.unref();
  return {
    update: (next) => {
      const server = latestTime(next);
      if (server !== undefined && server > clock.server) clock = { server, local: Date.now() };
      tree = next;
      draw(true);
    },
    close: () => {
      clearInterval(timer);
      draw(false);
      process.off('exit', showCursor);
      showCursor();
    },
  };
}

// Some pseudo-terminals have no size and say 0.
const screenRows = ({ rows }: Output) => rows || 24;
const screenColumns = ({ columns }: Output) => columns || 80;

function latestTime(tree: TreeState): number | undefined {
  const times = [tree.startedAt, tree.endedAt, ...tree.steps.flatMap(({ startedAt, endedAt }) => [startedAt, endedAt])];
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

function eraseLines(count: number): string {
  return count === 0 ? '' : `\u001b[${count}A\u001b[0J`;
}

/** Lines above the top of the screen cannot be redrawn: keep the title and the newest. */
export function fitToScreen(lines: readonly string[], rows: number): readonly string[] {
  if (lines.length <= rows) return lines;
  const [title = '', ...rest] = lines;
  if (rows < 3) return [title];
  const kept = rest.slice(-(rows - 2));
  return [title, `   … ${rest.length - kept.length} lines above`, ...kept];
}

function plainView(output: Output, palette: Palette, names: readonly string[]): TreeView {
  const printed = new Map<string, string>();
  let titled = false;
  let width = Math.max(0, ...names.map((name) => sanitise(name).length));

  const changed = (step: StepNode) => {
    const key = `${step.state}/${step.visits}/${step.attempt}`;
    if (printed.get(step.name) === key) return false;
    printed.set(step.name, key);
    return true;
  };

  return {
    update: (tree) => {
      if (!titled) {
        titled = true;
        output.write(`${sanitise(tree.path)}  ${tree.executionId}\n`);
      }
      width = Math.max(width, ...tree.steps.map(({ name }) => sanitise(name).length));
      for (const step of tree.steps) {
        // Waiting for a worker is normal and short; a line for it would double the output.
        const worth = step.state !== 'waiting' || step.waitsFor !== undefined;
        if (worth && changed(step)) output.write(`${plainLine(step, width, palette)}\n`);
      }
    },
    close: () => {},
  };
}
