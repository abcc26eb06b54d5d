// What replay does, at zero from the start.
import { Counter, type Registry } from 'prom-client';

/** `used`: a fold began with it. `ignored`: broken or of another fold. `straggler`: an event came that sorts before its end. */
export const SNAPSHOT_OUTCOMES = ['used', 'ignored', 'straggler', 'written', 'too_large', 'failed'] as const;
export type SnapshotOutcome = (typeof SNAPSHOT_OUTCOMES)[number];

export const DRIFT_OUTCOMES = ['matched', 'differs', 'empty'] as const;
export type DriftOutcome = (typeof DRIFT_OUTCOMES)[number];

export interface ReplayMetrics {
  folded(events: number): void;
  snapshot(outcome: SnapshotOutcome): void;
  drift(outcome: DriftOutcome): void;
}

export function createReplayMetrics(registry: Registry): ReplayMetrics {
  const events = new Counter({
    name: 'noetl_replay_events_total',
    help: 'Events read from the log and folded to a state by replay',
    registers: [registry],
  });
  const snapshots = new Counter({
    name: 'noetl_replay_snapshots_total',
    help: 'Stored replay states: used, ignored because broken or passed by a straggler, and written',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const drift = new Counter({
    name: 'noetl_replay_drift_checks_total',
    help: 'Executions whose replayed state was compared with their live rows',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of SNAPSHOT_OUTCOMES) snapshots.inc({ outcome }, 0);
  for (const outcome of DRIFT_OUTCOMES) drift.inc({ outcome }, 0);
  return {
    folded: (count) => events.inc(count),
    snapshot: (outcome) => snapshots.inc({ outcome }),
    drift: (outcome) => drift.inc({ outcome }),
  };
}
