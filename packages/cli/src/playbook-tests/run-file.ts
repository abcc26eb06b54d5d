// Runs the tests of one file, each as often as it was asked for in different orders, and says what came of them.
import type { Position } from '@noetl/core';
import { type Coverage, createCoverage } from './coverage.js';
import type { LoadedTest, TestFile } from './load.js';
import { type Played, play } from './stage.js';
import type { Moment } from './timeline.js';
import { judge, type Mismatch } from './verdict.js';

export interface RunOptions {
  readonly real: ReadonlySet<string>;
  /** One run for each; undefined is the order in which everything was planned. */
  readonly orders: readonly (number | undefined)[];
  readonly filter?: string;
  /** Nothing more is run after the first failure. */
  readonly bail: boolean;
}

export interface TestOutcome {
  readonly name: string;
  readonly at: Position;
  readonly passed: boolean;
  readonly milliseconds: number;
  /** Of the first order in which it failed. */
  readonly mismatches: readonly Mismatch[];
  readonly timeline: readonly Moment[];
  /** The order in which it failed, when it was not the usual one. */
  readonly seed?: number;
  /** It passed in the usual order. */
  readonly dependsOnOrder?: boolean;
}

export interface FileOutcome {
  readonly file: string;
  readonly tests: readonly TestOutcome[];
  readonly coverage: Coverage;
}

export async function runFile(
  { file, playbook, tests }: TestFile,
  options: RunOptions,
  onTest: (outcome: TestOutcome) => void,
): Promise<FileOutcome> {
  const outcomes: TestOutcome[] = [];
  const coverage = createCoverage(playbook);
  for (const loaded of tests) {
    if (options.filter !== undefined && !loaded.test.name.toLowerCase().includes(options.filter.toLowerCase()))
      continue;
    const outcome = await runTest(playbook, loaded, options, (played) => coverage.add(played));
    outcomes.push(outcome);
    onTest(outcome);
    if (options.bail && !outcome.passed) break;
  }
  return { file, tests: outcomes, coverage: coverage.summary() };
}

async function runTest(
  playbook: TestFile['playbook'],
  { test, children }: LoadedTest,
  { real, orders }: RunOptions,
  onPlayed: (played: Played) => void,
): Promise<TestOutcome> {
  const startedMs = performance.now();
  const done = () => Math.round(performance.now() - startedMs);
  const { name, at } = test;
  for (const [index, seed] of orders.entries()) {
    const played = await play({ playbook, test, children, real, ...(seed === undefined ? {} : { seed }) });
    // The other orders reach the same, or the test fails.
    if (index === 0) onPlayed(played);
    const mismatches = judge(test.expect, played);
    if (mismatches.length === 0) continue;
    const order = seed === undefined ? {} : { seed, dependsOnOrder: index > 0 };
    return { name, at, passed: false, milliseconds: done(), mismatches, timeline: played.timeline, ...order };
  }
  return { name, at, passed: true, milliseconds: done(), mismatches: [], timeline: [] };
}
