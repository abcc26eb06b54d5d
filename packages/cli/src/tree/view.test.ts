import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { paletteFor } from '../terminal.js';
import { log, type SampleEvent } from '../testing/sample-events.js';
import { renderTree } from './render.js';
import { emptyTree, reduceEvent, type TreeState } from './state.js';
import { fitToScreen, openTreeView } from './view.js';

const plain = paletteFor({ isTTY: false }, {});

function trees(...samples: SampleEvent[]): TreeState[] {
  const all = [emptyTree('77', 'samples/greet')];
  for (const event of log(...samples)) all.push(reduceEvent(all.at(-1) ?? emptyTree('', ''), event));
  return all;
}

function recorder(screen: { isTTY: boolean; columns?: number; rows?: number }) {
  const written: string[] = [];
  return { written, output: { ...screen, write: (text: string) => written.push(text) } };
}

const story: SampleEvent[] = [
  { type: 'playbook_started', at: 0 },
  { type: 'step.enter', step: 'start', at: 0 },
  { type: 'command.issued', step: 'start', at: 0 },
  { type: 'command.claimed', step: 'start', at: 10 },
  { type: 'command.completed', step: 'start', at: 120 },
  { type: 'step.skipped', step: 'low', at: 121 },
  { type: 'step.enter', step: 'highest', at: 121 },
  { type: 'command.issued', step: 'highest', at: 121 },
  { type: 'command.claimed', step: 'highest', at: 130 },
  { type: 'command.failed', step: 'highest', at: 1_621, error: 'HTTP 500 response\nand more' },
  { type: 'playbook.failed', at: 1_622 },
];

describe('a drawn tree', () => {
  it('aligns names, shows state and duration, and puts an error below its step', () => {
    const tree = trees(...story).at(-1) ?? emptyTree('', '');
    expect(renderTree(tree, { palette: plain, now: 2_000, spinner: '*' })).toEqual([
      'samples/greet  77',
      '├─ ✔ start    done  0.12s',
      '├─ – low      skipped',
      '└─ ✘ highest  failed  1.50s',
      '     HTTP 500 response',
    ]);
  });

  it('shows a spinner and the time so far for a running step', () => {
    const tree = trees(...story.slice(0, 4)).at(-1) ?? emptyTree('', '');
    expect(renderTree(tree, { palette: plain, now: 3_000, spinner: '*' })[1]).toBe('└─ * start  running  3.00s');
  });

  it('shows how far a loop has come', () => {
    const tree = trees(
      { type: 'step.enter', step: 'each', result: { status: 'x', context: { iterations_expected: 3 } } },
      { type: 'command.claimed', step: 'each' },
      { type: 'command.completed', step: 'each' },
      { type: 'command.failed', step: 'each' },
    ).at(-1);
    expect(renderTree(tree ?? emptyTree('', ''), { palette: plain, now: 0, spinner: '*' })[1]).toContain(
      '2/3  1 failed',
    );
  });

  it('lets no control character of a step name or an error reach the terminal', () => {
    const tree = trees({ type: 'command.failed', step: 'a\u001b[2Jb\r', error: '\u001b]0;title\u0007oops' }).at(-1);
    const lines = renderTree(tree ?? emptyTree('', ''), { palette: plain, now: 0, spinner: '*' }).join('');
    expect(lines).not.toMatch(/[\u0000-\u001f]/);
    expect(lines).toContain('oops');
  });
});

describe('the plain view', () => {
  it('prints one line per transition and none twice', () => {
    const { written, output } = recorder({ isTTY: false });
    const view = openTreeView(output, plain);
    for (const tree of trees(...story)) view.update(tree);
    view.close();
    expect(written.join('')).toBe(
      [
        'samples/greet  77',
        '  start  running',
        '  start  done       0.12s',
        '  low    skipped',
        '  highest  running',
        '  highest  failed     1.50s  HTTP 500 response',
        '',
      ].join('\n'),
    );
  });
});

describe('the plain view of a playbook whose steps are known', () => {
  it('is aligned from the first line', () => {
    const { written, output } = recorder({ isTTY: false });
    const view = openTreeView(output, plain, ['start', 'highest']);
    for (const tree of trees(...story.slice(0, 4))) view.update(tree);
    expect(written.at(-1)).toBe('  start    running\n');
  });
});

describe('the live view', () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  it('redraws in place and gives the cursor back', () => {
    const { written, output } = recorder({ isTTY: true, columns: 80, rows: 24 });
    const view = openTreeView(output, plain);
    const [, , , , running] = trees(...story);
    if (running !== undefined) view.update(running);
    vi.advanceTimersByTime(80);
    view.close();
    expect(written[0]).toBe('\u001b[?25l');
    expect(written[2]).toMatch(/^\u001b\[2A\u001b\[0J/);
    expect(written.at(-1)).toBe('\u001b[?25h');
  });

  it('moves the spinner and the clock between events', () => {
    const { written, output } = recorder({ isTTY: true, columns: 80, rows: 24 });
    const view = openTreeView(output, plain);
    const [, , , , running] = trees(...story);
    if (running !== undefined) view.update(running);
    const before = written.at(-1);
    vi.advanceTimersByTime(2_000);
    view.close();
    const after = stripVTControlCharacters(written.at(-2) ?? '');
    expect(after).not.toBe(before);
    expect(after).toContain('2.0');
  });

  it('never draws a line wider than the screen', () => {
    const { written, output } = recorder({ isTTY: true, columns: 20, rows: 24 });
    const view = openTreeView(output, paletteFor({ isTTY: true }, {}));
    const last = trees(...story).at(-1);
    if (last !== undefined) view.update(last);
    view.close();
    const lines = stripVTControlCharacters(written.join('')).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(20);
  });

  it('assumes an ordinary screen when the terminal does not know its size', () => {
    const { written, output } = recorder({ isTTY: true, columns: 0, rows: 0 });
    const view = openTreeView(output, plain);
    const last = trees(...story).at(-1);
    if (last !== undefined) view.update(last);
    view.close();
    expect(written.join('')).toContain('✘ highest  failed');
  });

  it('keeps the title and the newest lines when the tree is taller than the screen', () => {
    const lines = ['title', ...Array.from({ length: 10 }, (_, index) => `step ${index}`)];
    expect(fitToScreen(lines, 5)).toEqual(['title', '   … 7 lines above', 'step 7', 'step 8', 'step 9']);
    expect(fitToScreen(lines, 11)).toEqual(lines);
  });
});
