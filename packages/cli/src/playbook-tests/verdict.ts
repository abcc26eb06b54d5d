// Compares what came of a test with what it expects. Every expectation that does not hold is told, not only the first.
import {
  type Expectation,
  isTerminal,
  type Json,
  type JsonObject,
  type Named,
  stringifyJson,
  waitingFor,
} from '@noetl/core';
import { type Difference, differences } from './match.js';
import type { Played } from './stage.js';
import { describeWaiting, shortDuration } from './words.js';

export interface Mismatch {
  /** The key under `expect`. */
  readonly check: string;
  readonly lines: readonly DiffLine[];
}

export interface DiffLine {
  /** `-` was expected, `+` is what came, a blank is common to both or explains. */
  readonly sign: '-' | '+' | ' ';
  readonly text: string;
}

export function judge(expect: Expectation, played: Played): Mismatch[] {
  if (played.problem !== undefined) return [{ check: 'problem', lines: [plain(played.problem)] }];
  const { state, calls } = played;
  const path = pathOf(played);
  const entered = new Set(path);
  const mismatches: Mismatch[] = [];
  const tell = (check: string, lines: readonly DiffLine[]) => {
    if (lines.length > 0) mismatches.push({ check, lines });
  };

  tell('status', statusLines(expect, played));
  if (expect.error !== undefined) tell('error', errorLines(expect.error, state.error));
  if (expect.path !== undefined) tell('path', pathLines(expect.path, path));
  tell('visited', missing(expect.visited, entered));
  tell('not_visited', surplus(expect.notVisited, entered));
  tell('skipped', missing(expect.skipped, skippedSteps(played)));
  if (expect.result !== undefined) tell('result', lines(differences(expect.result, resultOf(played))));
  for (const { name, value } of expect.steps) {
    const step = state.steps[name];
    tell(`steps.${name}`, lines(differences(value, step?.hasData ? step.data : undefined)));
  }
  if (expect.ctx !== undefined) tell('ctx', lines(differences(expect.ctx, { ...state.ctx })));
  for (const { name, count } of expect.calls) {
    const actual = calls.filter((call) => call.name === name).length;
    if (actual !== count) tell(`calls.${name}`, [expected(String(count)), found(String(actual))]);
  }
  for (const { name, calls: wanted } of expect.callsWith) {
    const actual = calls
      .filter((call) => call.name === name)
      .map(({ input, config }): JsonObject => ({ input, config }));
    tell(`calls_with.${name}`, lines(differences([...wanted], actual)));
  }
  if (expect.durationMs !== undefined && expect.durationMs !== played.durationMs)
    tell('duration', [expected(shortDuration(expect.durationMs)), found(shortDuration(played.durationMs))]);
  return mismatches;
}

/** The value of the step that finished last, as the API answers it. */
export function resultOf({ state }: Played): Json {
  return state.lastStep === null ? null : (state.steps[state.lastStep]?.data ?? null);
}

export function pathOf({ events }: Played): string[] {
  return events.flatMap((event) => (event.type === 'step.enter' ? [event.step] : []));
}

function skippedSteps({ events }: Played): Set<string> {
  return new Set(events.flatMap((event) => (event.type === 'step.skipped' ? [event.step] : [])));
}

function statusLines({ status }: Expectation, { state, compiled }: Played): DiffLine[] {
  if (state.status === status) return [];
  const reason = state.error === null ? '' : `: ${state.error}`;
  if (isTerminal(state)) return [expected(status), found(`${state.status}${reason}`)];
  const waiting = waitingFor(compiled, state).map((item) => plain(describeWaiting(item)));
  return [expected(status), found('it does not end: nothing in this test moves it any more'), ...waiting];
}

function errorLines(wanted: string, error: string | null): DiffLine[] {
  const pattern = /^\/(.*)\/$/s.exec(wanted)?.[1];
  const holds =
    error !== null && (pattern === undefined ? error.includes(wanted) : new RegExp(pattern, 'u').test(error));
  return holds ? [] : [expected(wanted), found(error ?? 'no error')];
}

function pathLines(wanted: NonNullable<Expectation['path']>, actual: readonly string[]): DiffLine[] {
  const flat = flatPath(wanted, actual);
  return flat.join('\n') === actual.join('\n') ? [] : diff(flat, actual);
}

/** Steps that may come in any order are put into the order they came in. */
function flatPath(wanted: NonNullable<Expectation['path']>, actual: readonly string[]): string[] {
  const flat: string[] = [];
  for (const part of wanted) {
    if (!('length' in part)) {
      flat.push(part.name);
      continue;
    }
    const rest = actual.slice(flat.length);
    const place = (name: string) => (rest.includes(name) ? rest.indexOf(name) : rest.length);
    flat.push(...part.map(({ name }) => name).sort((a, b) => place(a) - place(b)));
  }
  return flat;
}

/** The shortest way from one list to the other (longest common subsequence). */
function diff(wanted: readonly string[], actual: readonly string[]): DiffLine[] {
  const common = Array.from({ length: wanted.length + 1 }, () => new Array<number>(actual.length + 1).fill(0));
  const at = (i: number, j: number): number => common[i]?.[j] ?? 0;
  for (let i = wanted.length - 1; i >= 0; i--) {
    for (let j = actual.length - 1; j >= 0; j--) {
      const row = common[i];
      if (row === undefined) continue;
      row[j] = wanted[i] === actual[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const result: DiffLine[] = [];
  for (let i = 0, j = 0; i < wanted.length || j < actual.length; ) {
    const [left, right] = [wanted[i], actual[j]];
    if (left !== undefined && left === right) {
      result.push(plain(left));
      i++;
      j++;
    } else if (right === undefined || (left !== undefined && at(i + 1, j) >= at(i, j + 1))) {
      if (left !== undefined) result.push(expected(left));
      i++;
    } else {
      result.push(found(right));
      j++;
    }
  }
  return result;
}

function missing(wanted: readonly Named[], actual: ReadonlySet<string>): DiffLine[] {
  return wanted.filter(({ name }) => !actual.has(name)).map(({ name }) => expected(name));
}

function surplus(unwanted: readonly Named[], actual: ReadonlySet<string>): DiffLine[] {
  return unwanted.filter(({ name }) => actual.has(name)).map(({ name }) => found(name));
}

function lines(all: readonly Difference[]): DiffLine[] {
  return all.flatMap(({ place, expected: wanted, actual }): DiffLine[] => {
    const at = place === '' ? '' : `${place}  `;
    return [
      ...(wanted === undefined ? [] : [expected(`${at}${stringifyJson(wanted)}`)]),
      found(`${at}${actual === undefined ? 'nothing' : stringifyJson(actual)}`),
    ];
  });
}

const expected = (text: string): DiffLine => ({ sign: '-', text });
const found = (text: string): DiffLine => ({ sign: '+', text });
const plain = (text: string): DiffLine => ({ sign: ' ', text });
