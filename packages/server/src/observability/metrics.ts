// Prometheus metrics, registered at zero when the server starts. No label ever holds an id: its values must be few.
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { ApiProblem } from '../errors.js';

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const WRITE_ENDPOINTS = ['catalog_register', 'runtime_register', 'runtime_heartbeat'] as const;
const OUTCOMES = ['new', 'duplicate', 'error'] as const;

export type WriteEndpoint = (typeof WRITE_ENDPOINTS)[number];

export interface Metrics {
  readonly registry: Registry;
  timeWrite<T>(endpoint: WriteEndpoint, work: () => Promise<T>): Promise<T>;
  timeResult<T>(operation: 'put' | 'resolve', work: () => Promise<T>): Promise<T>;
  eventsIngested(type: string, status: 'ok' | 'error', count: number, seconds: number): void;
  executeOutcome(entry: 'single' | 'batch', outcome: (typeof OUTCOMES)[number]): void;
  executeBatchSize(size: number): void;
  appended(stats: { executions: number; events: number; stale: number; seconds: number }): void;
  executionEnded(status: string): void;
  claimed(outcome: 'granted' | 'refused', count: number): void;
  leasesExpired(count: number): void;
  snapshotsBroken(count: number): void;
  http(method: string, route: string, code: number, seconds: number): void;
}

export interface MetricSources {
  readonly version: string;
  readyCommands(): number;
  waitingWorkers(): number;
  streamFollowers(): number;
}

export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const counter = <L extends string>(name: string, help: string, labelNames: L[] = []) =>
    new Counter<L>({ name, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, labelNames: L[] = [], buckets: number[] = SECONDS) =>
    new Histogram<L>({ name, help, labelNames, buckets, registers });
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });

  const ingested = counter('noetl_events_ingested_total', 'Events taken from producers', ['event_type', 'status']);
  const ingestSeconds = histogram('noetl_event_ingest_duration_seconds', 'Time to store an event', ['event_type']);
  const writes = counter('noetl_write_requests_total', 'Write requests', ['endpoint', 'status']);
  const writeSeconds = histogram('noetl_write_request_duration_seconds', 'Time of write requests', ['endpoint']);
  const executes = counter('noetl_execute_outcomes_total', 'Execute requests', ['entry', 'outcome']);
  const batchSize = histogram(
    'noetl_execute_batch_size',
    'Executions per batch request',
    [],
    [1, 5, 10, 25, 50, 100, 250, 500, 1000],
  );
  const results = {
    put: counter('noetl_result_store_put_total', 'Results stored', ['status']),
    resolve: counter('noetl_result_store_resolve_total', 'Results read by reference', ['status']),
  };
  const resultSeconds = {
    put: histogram('noetl_result_store_put_duration_seconds', 'Time to store a result'),
    resolve: histogram('noetl_result_store_resolve_duration_seconds', 'Time to read a result by reference'),
  };
  const brokenSnapshots = counter('noetl_snapshots_broken_total', 'Snapshots that could not be used');
  const appends = counter('noetl_appends_total', 'Append transactions');
  const appendSeconds = histogram('noetl_append_duration_seconds', 'Time of append transactions');
  const appendedEvents = counter('noetl_events_appended_total', 'Events written to the log');
  const stale = counter('noetl_append_stale_total', 'Executions decided on a version that was no longer the head');
  const ended = counter('noetl_executions_total', 'Executions that ended', ['status']);
  const claims = counter('noetl_commands_claimed_total', 'Claims of commands', ['outcome']);
  const expired = counter('noetl_command_leases_expired_total', 'Commands re-issued because their lease ran out');
  const requests = counter('noetl_http_requests_total', 'HTTP requests', ['method', 'route', 'code']);
  const requestSeconds = histogram('noetl_http_request_duration_seconds', 'Time of HTTP requests', ['route']);
  new Gauge({ name: 'noetl_server_build_info', help: 'Build', labelNames: ['version'], registers }).set(
    { version: sources.version },
    1,
  );
  gauge('noetl_up', 'The server is up', () => 1);
  gauge('noetl_commands_ready', 'Commands in the memory of this server that wait for a worker', sources.readyCommands);
  gauge('noetl_workers_waiting', 'Workers that wait for a command', sources.waitingWorkers);
  gauge('noetl_stream_followers', 'Open event streams', sources.streamFollowers);

  for (const endpoint of WRITE_ENDPOINTS) {
    writeSeconds.zero({ endpoint });
    for (const status of ['ok', 'error']) writes.inc({ endpoint, status }, 0);
  }
  for (const status of ['ok', 'error']) results.put.inc({ status }, 0);
  for (const status of ['ok', 'not_found', 'bad_request', 'error']) results.resolve.inc({ status }, 0);
  for (const entry of ['single', 'batch']) for (const outcome of OUTCOMES) executes.inc({ entry, outcome }, 0);
  for (const status of ['COMPLETED', 'FAILED', 'CANCELLED']) ended.inc({ status }, 0);
  for (const outcome of ['granted', 'refused']) claims.inc({ outcome }, 0);
  for (const event_type of ['command.started', 'call.done', 'call.error', 'command.completed', 'command.failed']) {
    ingestSeconds.zero({ event_type });
    for (const status of ['ok', 'error']) ingested.inc({ event_type, status }, 0);
  }

  return {
    registry,
    async timeWrite(endpoint, work) {
      const stop = writeSeconds.startTimer({ endpoint });
      try {
        const result = await work();
        writes.inc({ endpoint, status: 'ok' });
        return result;
      } catch (error) {
        writes.inc({ endpoint, status: 'error' });
        throw error;
      } finally {
        stop();
      }
    },
    async timeResult(operation, work) {
      const stop = resultSeconds[operation].startTimer();
      try {
        const result = await work();
        results[operation].inc({ status: 'ok' });
        return result;
      } catch (error) {
        const code = operation === 'resolve' && error instanceof ApiProblem ? error.status : 0;
        results[operation].inc({ status: code === 404 ? 'not_found' : code === 400 ? 'bad_request' : 'error' });
        throw error;
      } finally {
        stop();
      }
    },
    eventsIngested(type, status, count, seconds) {
      const event_type = boundedType(type);
      ingested.inc({ event_type, status }, count);
      ingestSeconds.observe({ event_type }, seconds);
    },
    executeOutcome: (entry, outcome) => executes.inc({ entry, outcome }),
    executeBatchSize: (size) => batchSize.observe(size),
    appended(stats) {
      appends.inc();
      appendSeconds.observe(stats.seconds);
      appendedEvents.inc(stats.events);
      stale.inc(stats.stale);
    },
    executionEnded: (status) => ended.inc({ status }),
    claimed: (outcome, count) => claims.inc({ outcome }, count),
    leasesExpired: (count) => expired.inc(count),
    snapshotsBroken: (count) => brokenSnapshots.inc(count),
    http(method, route, code, seconds) {
      requests.inc({ method, route, code: String(code) });
      requestSeconds.observe({ route }, seconds);
    },
  };
}

/** Producers choose event types; the label must not grow with what they invent. */
export function boundedType(type: string): string {
  return /^(command|call|step|loop|playbook|workflow|subscription|ctx|next|stage|frame|batch|execution)[._][a-z_.]{1,40}$/.test(
    type,
  )
    ? type
    : 'other';
}
