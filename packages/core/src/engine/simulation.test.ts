// The engine under random playbooks with children, waits, cursors and forks; random interleavings, lost and doubled reports, messages and
// signals, late timers, and crashes. Everything at length:  NOETL_SIM_SEEDS=10000 npx vitest run <this file>
// One failing case again:  NOETL_SIM_SEED=1234 npx vitest run packages/core/src/engine/simulation.test.ts
import { expect, it } from 'vitest';
import { simulateSeed } from './simulation/run.js';
import type { Tally } from './simulation/tally.js';

const only = process.env.NOETL_SIM_SEED;
const seeds = Number(process.env.NOETL_SIM_SEEDS ?? 1_800);
const first = only === undefined ? 1 : Number(only);
const last = only === undefined ? seeds : first;
/** For a machine that is busy with other things; one that is not needs about ten milliseconds a seed. */
const PATIENCE_MS = 60_000 + seeds * 100;

/** What the seeds must have met: a promise about a thing that never happened is not kept, only given. */
const MET = [
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'children',
  'stale decisions',
  'command.requeued',
  'loop.done',
  'rows of cursors',
  'signal.delivered',
  'timeouts',
  'forks from_failure',
  'forks from_step',
  'forks from_event',
];

it(`keeps its promises under ${last - first + 1} random playbooks (seeds ${first} to ${last})`, {
  timeout: PATIENCE_MS,
}, () => {
  const tally: Tally = {};
  for (let seed = first; seed <= last; seed++) {
    try {
      simulateSeed(seed, tally);
    } catch (error) {
      throw new Error(`NOETL_SIM_SEED=${seed}: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }
  expect(tally.executions).toBeGreaterThan(last - first);
  if (last - first >= 500) expect(MET.filter((what) => (tally[what] ?? 0) < 20)).toEqual([]);
  console.info('simulated', tally);
});
