// The worker's Prometheus metrics. Every series exists from the start with the value zero, so that a rate or an alert
// never waits for a first event. No id is ever a label.
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export type PullOutcome = 'claimed' | 'empty' | 'error';

export interface WorkerMetrics {
  readonly registry: Registry;
  pulled(outcome: PullOutcome, seconds: number, commands: number): void;
  dispatched(kind: string, seconds: number, failed: boolean): void;
  emitted(eventTypes: readonly string[], seconds: number): void;
  emitRetried(eventTypes: readonly string[]): void;
  emitFailed(eventTypes: readonly string[]): void;
  reconnected(reason: 'lease' | 'heartbeat' | 'register'): void;
  concurrent(commands: number): void;
  ready(ready: boolean): void;
}

const REPORTED = ['command.started', 'command.completed', 'command.failed', 'command.cancelled'];
const OTHER_KIND = 'other';
const SECONDS = [0.001, 0.005, 0.025, 0.1, 0.25, 1, 2.5, 10, 60, 300];

export function createWorkerMetrics(options: { kinds: readonly string[]; version: string }): WorkerMetrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: L[]): Counter<L> =>
    new Counter({ name: `noetl_worker_${name}`, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, labelNames: L[]): Histogram<L> =>
    new Histogram({ name: `noetl_worker_${name}`, help, labelNames, registers, buckets: SECONDS });
  const gauge = <L extends string>(name: string, help: string, labelNames: L[]): Gauge<L> =>
    new Gauge({ name: `noetl_worker_${name}`, help, labelNames, registers });

  const pulls = counter('pulls_total', 'Lease requests by outcome', ['outcome']);
  const pullSeconds = histogram('pull_duration_seconds', 'Duration of lease requests, long poll included', []);
  const claims = counter('claim_succeeded_total', 'Commands claimed by this worker', []);
  const claimFailures = counter('claim_failed_total', 'Lease requests that failed', []);
  const dispatchSeconds = histogram('dispatch_duration_seconds', 'Run time of tools', ['tool_kind']);
  const dispatchErrors = counter('dispatch_errors_total', 'Tool runs that did not succeed', ['tool_kind']);
  const emitSeconds = histogram('event_emit_duration_seconds', 'Time to record a report', ['event_type']);
  const emitRetries = counter('event_emit_retries_total', 'Reports sent again', ['event_type']);
  const emitFailures = counter('event_emit_failed_total', 'Reports refused or given up', ['event_type']);
  const reconnects = counter('command_loop_reconnect_total', 'Times the control plane was lost', ['reason']);
  const concurrent = gauge('concurrent_dispatches', 'Commands held right now', []);
  const ready = gauge('ready', '1 when the worker is registered and leasing', []);
  const build = gauge('build_info', 'Version of the worker', ['version', 'node']);

  const kinds = new Set(options.kinds);
  // A kind comes from outside; an unknown one must not create a new series.
  const kindLabel = (kind: string): string => (kinds.has(kind) ? kind : OTHER_KIND);

  for (const outcome of ['claimed', 'empty', 'error']) pulls.inc({ outcome }, 0);
  for (const tool_kind of [...kinds, OTHER_KIND]) {
    dispatchErrors.inc({ tool_kind }, 0);
    dispatchSeconds.zero({ tool_kind });
  }
  for (const event_type of REPORTED) {
    emitRetries.inc({ event_type }, 0);
    emitFailures.inc({ event_type }, 0);
    emitSeconds.zero({ event_type });
  }
  for (const reason of ['lease', 'heartbeat', 'register']) reconnects.inc({ reason }, 0);
  build.set({ version: options.version, node: process.version }, 1);

  return {
    registry,
    pulled(outcome, seconds, commands) {
      pulls.inc({ outcome });
      pullSeconds.observe(seconds);
      claims.inc(commands);
      if (outcome === 'error') claimFailures.inc();
    },
    dispatched(kind, seconds, failed) {
      const tool_kind = kindLabel(kind);
      dispatchSeconds.observe({ tool_kind }, seconds);
      if (failed) dispatchErrors.inc({ tool_kind });
    },
    emitted(eventTypes, seconds) {
      for (const event_type of eventTypes) emitSeconds.observe({ event_type }, seconds);
    },
    emitRetried(eventTypes) {
      for (const event_type of eventTypes) emitRetries.inc({ event_type });
    },
    emitFailed(eventTypes) {
      for (const event_type of eventTypes) emitFailures.inc({ event_type });
    },
    reconnected: (reason) => reconnects.inc({ reason }),
    concurrent: (commands) => concurrent.set(commands),
    ready: (isReady) => ready.set(isReady ? 1 : 0),
  };
}
