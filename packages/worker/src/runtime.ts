// The worker: leases commands, runs their tools, reports how they ended. What must stay true:
//  - slots: `held + promised to the open long poll <= concurrency` at every moment, and every slot comes back;
//  - a finished command keeps its slot until the server has answered for it; the same request asks for the next one, so a
//    sequential step costs one round trip and unsent results can never pile up beyond the slots;
//  - a lease is renewed for as long as its command is held, also while the server refuses to take the report.
// A worker is starting -> ready -> draining -> closed; only `shutDown` moves it past ready.
import { hostname } from 'node:os';
import type { CommandReport, LeasedCommand, RegisterWorkerRequest } from '@noetl/client';
import { refusesBody, type WorkerApi } from './api.js';
import { pause, persist } from './backoff.js';
import { dispatch } from './dispatch.js';
import { endingEvents, type Outcome, type RunTimes, reportOf, startedEvent } from './events.js';
import { type Beat, type Heartbeat, startHeartbeat } from './heartbeat.js';
import { cutShort, type Held, heldCommands } from './held.js';
import { leaseLoop } from './lease-loop.js';
import type { WorkerLog } from './log.js';
import type { WorkerMetrics } from './metrics.js';
import { createReporter } from './reporter.js';
import { builtinTools, toolRegistry } from './tools/index.js';
import type { Tool } from './tools/tool.js';

export interface WorkerOptions {
  readonly api: WorkerApi;
  /** Unique among the workers of a control plane. */
  readonly workerId: string;
  readonly pools: readonly string[];
  readonly concurrency?: number;
  readonly heartbeatMs?: number;
  readonly drainTimeoutMs?: number;
  readonly pollWaitMs?: number;
  /** A tool that runs longer than this announces its start by a report of its own. */
  readonly announceAfterMs?: number;
  readonly tools?: readonly Tool[];
  readonly log: WorkerLog;
  readonly metrics?: WorkerMetrics;
}

export type WorkerPhase = 'starting' | 'ready' | 'draining' | 'closed';

export interface Worker extends AsyncDisposable {
  readonly phase: WorkerPhase;
  /** Commands held: running, or finished and not yet recorded. */
  readonly inFlight: number;
  /** Takes no new work, lets running commands end (up to `drainTimeoutMs`), gives the others back, deregisters. */
  drain(): Promise<void>;
  /** The same without waiting for running commands. Also cuts a drain short. */
  stop(): Promise<void>;
  /** Resolves after drain or stop has done its work. */
  readonly closed: Promise<void>;
}

/** An aborted process gets 5 s between SIGTERM and SIGKILL; a tool that is still there after this is left behind. */
const ABORT_WAIT_MS = 6_000;
/** How long closing waits for the server to take the last reports; afterwards the leases run out and others redo the work. */
const FLUSH_WAIT_MS = 5_000;
const FAREWELL_WAIT_MS = 2_000;

export function startWorker(options: WorkerOptions): Worker {
  const { api, workerId, log, metrics } = options;
  const pools = [...options.pools];
  const concurrency = options.concurrency ?? 8;
  const announceAfterMs = options.announceAfterMs ?? 500;
  const tools = toolRegistry(options.tools ?? builtinTools());
  const leasing = new AbortController();
  const living = new AbortController();
  const hurry = new AbortController();
  let phase: WorkerPhase = 'starting';
  let heartbeat: Heartbeat | undefined;
  let registration: Promise<void> | undefined;
  let shuttingDown: Promise<void> | undefined;
  const running = new Set<Promise<void>>();
  const releases = new Set<Promise<unknown>>();
  let markClosed = (): void => undefined;
  const closed = new Promise<void>((resolve) => {
    markClosed = resolve;
  });

  const held = heldCommands((size) => metrics?.concurrent(size));

  const reporter = createReporter({
    send: (reports, slots) =>
      api.report({
        worker_id: workerId,
        reports,
        ...(phase === 'ready' && slots > 0 ? { lease: { pools, max: slots } } : {}),
      }),
    onDelivered(finished, commands) {
      for (const report of finished) forget(report);
      admit(commands, finished.length);
      leases.poke();
    },
    log,
    ...(metrics === undefined ? {} : { metrics }),
  });

  const leases = leaseLoop({
    freeSlots: () => (phase === 'ready' ? concurrency - held.size : 0),
    lease: (max, signal) =>
      api.lease({ worker_id: workerId, pools, max, wait_ms: options.pollWaitMs ?? 20_000 }, { signal }),
    onCommands: admit,
    onFailure: (failure, waitMs) =>
      log.warn({ reason: failure.message, status: failure.status, waitMs }, 'lease failed'),
    signal: leasing.signal,
    ...(metrics === undefined ? {} : { metrics }),
  });

  function startBeating(intervalMs: number): Heartbeat {
    return startHeartbeat({
      api,
      intervalMs,
      signal: living.signal,
      beat: renewLeases,
      onUnknown: register,
      onFailure(failure) {
        metrics?.reconnected('heartbeat');
        log.warn({ reason: failure.message, status: failure.status }, 'heartbeat failed');
      },
    });
  }

  function admit(commands: readonly LeasedCommand[], slots: number): void {
    commands.forEach((command, index) => {
      // More than was asked for, or an answer that arrives after the drain began: somebody else shall have it now.
      if (phase === 'ready' && index < slots) start(command);
      else giveBack(command, phase === 'ready' ? 'no free slot' : 'worker is draining');
    });
  }

  function start(command: LeasedCommand): void {
    if (held.find(command.command_id, command.claim_token) !== undefined) return;
    for (const other of held) {
      // The server gave the command out again, so the lease of the run we still have is gone.
      if (other.command.command_id === command.command_id) cutShort(other, 'lost');
    }
    const run = held.add(command);
    run.startTimer = setTimeout(() => announceStart(run), announceAfterMs);
    log.debug({ ...idsOf(run), tool_kind: command.tool_kind }, 'command starts');
    const ended = dispatch(command, tools, run.controller.signal, log).then((outcome) => finish(run, outcome));
    running.add(ended);
    void ended.finally(() => running.delete(ended));
  }

  function announceStart(run: Held): void {
    run.startAnnounced = true;
    reporter.enqueue(reportOf(run.command, [startedEvent(run.command, run.startedAt)]), false);
  }

  function finish(run: Held, outcome: Outcome): void {
    clearTimeout(run.startTimer);
    const durationMs = Math.round(performance.now() - run.startedMs);
    const succeeded = outcome.type === 'returned' && outcome.result.status === 'success';
    metrics?.dispatched(run.command.tool_kind, durationMs / 1000, !succeeded);
    if (run.cut === 'lost' || run.cut === 'released') {
      if (run.cut === 'released') giveBack(run.command, 'worker is draining');
      held.remove(run);
      leases.poke();
      return;
    }
    run.phase = 'reporting';
    const times = { startedAt: run.startedAt, finishedAt: new Date(), durationMs };
    reportEnd(run, run.cut === 'cancelled' ? { type: 'cancelled' } : outcome, times);
  }

  function reportEnd(run: Held, outcome: Outcome, times: RunTimes): void {
    const { command } = run;
    // A start that was announced but not sent yet travels with the end: one report less.
    const announced = run.startAnnounced && !reporter.withdraw(command.command_id, command.claim_token);
    const start = announced ? [] : [startedEvent(command, run.startedAt)];
    try {
      reporter.enqueue(reportOf(command, [...start, ...endingEvents(command, outcome, times)]), true);
    } catch (error) {
      // A tool answered with something that JSON cannot carry (a cycle, a function): that is how the command ends.
      reporter.enqueue(reportOf(command, [...start, ...endingEvents(command, { type: 'raised', error }, times)]), true);
    }
  }

  function forget(report: CommandReport): void {
    const run = held.find(report.command_id, report.claim_token);
    if (run !== undefined) held.remove(run);
  }

  function giveBack(command: LeasedCommand, reason: string): void {
    const request = { worker_id: workerId, claim_token: command.claim_token, reason, count_attempt: false };
    const ids = { execution_id: command.execution_id, command_id: command.command_id };
    const release = persist(
      () => api.release(command.event_id, request),
      living.signal,
      (failure) => log.warn({ ...ids, reason: failure.message }, 'release failed'),
      // Refused, or unknown: the lease is not ours any more, which is what a release is for.
      (failure) => refusesBody(failure) || failure.status === 404,
    ).catch((error: unknown) => log.warn({ ...ids, reason: String(error) }, 'command could not be given back'));
    releases.add(release);
    void release.then(() => releases.delete(release));
  }

  function renewLeases(): Beat {
    const asked = [...held].filter((run) => run.cut !== 'lost');
    return {
      request: {
        name: workerId,
        status: phase === 'draining' ? 'draining' : 'ready',
        capacity: concurrency,
        in_flight: held.size,
        leases: asked.map(({ command }) => ({ command_id: command.command_id, claim_token: command.claim_token })),
      },
      onAnswer(answer) {
        const cancelled = new Set(answer.cancelled);
        const lost = new Set(answer.lost);
        // Only runs that this very beat named: a command that was leased again meanwhile is another run.
        for (const run of asked) {
          if (lost.has(run.command.command_id)) abort(run, 'lost');
          else if (cancelled.has(run.command.command_id)) abort(run, 'cancelled');
        }
      },
    };
  }

  function abort(run: Held, why: 'lost' | 'cancelled'): void {
    if (run.phase !== 'running' || run.cut !== undefined) return;
    log.info({ ...idsOf(run), why }, 'command is aborted');
    cutShort(run, why);
  }

  /** Until it succeeds or the worker drains; asking again meanwhile is the same registration. */
  function register(): Promise<void> {
    registration ??= persist(
      () => api.registerWorker(introduction()),
      leasing.signal,
      (failure) => {
        metrics?.reconnected('register');
        log.warn({ reason: failure.message, status: failure.status }, 'registration failed');
      },
    )
      .then(
        (answer) => becomeReady(answer),
        () => undefined,
      )
      .finally(() => {
        registration = undefined;
      });
    return registration;
  }

  function introduction(): RegisterWorkerRequest {
    return {
      name: workerId,
      component_type: 'worker_pool',
      status: 'ready',
      hostname: hostname(),
      capacity: concurrency,
      labels: { pools },
      capabilities: { tools: [...tools.keys()] },
      runtime: { kind: 'node', version: process.version },
    };
  }

  function becomeReady(answer: unknown): void {
    if (phase !== 'starting') return;
    phase = 'ready';
    heartbeat = startBeating(beatInterval(answer, options.heartbeatMs ?? 10_000));
    metrics?.ready(true);
    log.info({ workerId, pools, concurrency }, 'worker is ready');
    leases.poke();
  }

  async function shutDown(): Promise<void> {
    phase = 'draining';
    metrics?.ready(false);
    leasing.abort();
    log.info({ workerId, inFlight: held.size }, 'worker drains');
    void heartbeat?.now();
    await within(options.drainTimeoutMs ?? 25_000, held.empty(), hurry.signal);

    for (const run of held) cutShort(run, 'released');
    await within(ABORT_WAIT_MS, Promise.all(running));
    for (const run of held) {
      if (run.phase !== 'running') continue;
      log.error({ ...idsOf(run) }, 'tool ignores its abort signal');
      giveBack(run.command, 'worker is draining');
    }
    await within(FLUSH_WAIT_MS, Promise.all([reporter.idle(), ...releases]));
    reporter.close();
    living.abort();
    await within(
      FAREWELL_WAIT_MS,
      api
        .deregisterWorker(workerId)
        .catch((error: unknown) => log.warn({ reason: String(error) }, 'deregistration failed')),
    );
    phase = 'closed';
    log.info({ workerId, unreported: held.size }, 'worker is closed');
    markClosed();
  }

  const drain = (): Promise<void> => (shuttingDown ??= shutDown());
  const stop = (): Promise<void> => {
    hurry.abort();
    return drain();
  };
  void register();

  return {
    get phase() {
      return phase;
    },
    get inFlight() {
      return held.size;
    },
    drain,
    stop,
    closed,
    [Symbol.asyncDispose]: drain,
  };
}

/** Three beats to a lease: one may be lost, one may be late. */
function beatInterval(answer: unknown, usualMs: number): number {
  const leaseMs = typeof answer === 'object' && answer !== null && 'lease_ms' in answer ? answer.lease_ms : undefined;
  return typeof leaseMs === 'number' ? Math.min(usualMs, leaseMs / 3) : usualMs;
}

function idsOf({ command }: Held): { execution_id: string; command_id: string; step: string } {
  return { execution_id: command.execution_id, command_id: command.command_id, step: command.step };
}

/** Waits for `work`, but no longer than `ms` and not beyond the signal. */
async function within(ms: number, work: Promise<unknown>, signal?: AbortSignal): Promise<void> {
  const done = new AbortController();
  const limit = signal === undefined ? done.signal : AbortSignal.any([done.signal, signal]);
  await Promise.race([work, pause(ms, limit)]);
  done.abort();
}
