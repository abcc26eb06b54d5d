// The worker: leases commands, runs their tools, reports how they ended. What must stay true:
//  - slots: `held + promised to the open long poll <= concurrency` at every moment, and every slot comes back;
//  - a finished command keeps its slot until the server has answered for it; the same request asks for the next one, so a
//    sequential step costs one round trip and unsent results can never pile up beyond the slots;
//  - a lease is renewed for as long as its command is held, also while the server refuses to take the report.
// A worker is starting -> ready -> draining -> closed; only `shutDown` moves it past ready.
import { hostname } from 'node:os';
import type { CommandReport, LeasedCommand, RegisterWorkerRequest } from '@noetl/client';
import type { Json } from '@noetl/core';
import type { WorkerApi } from './api.js';
import { pause, persist } from './backoff.js';
import { dispatch, type Workshop } from './dispatch.js';
import { endingEvents, type Outcome, type RunTimes, reportOf, startedEvent } from './events.js';
import { type Beat, type Heartbeat, startHeartbeat } from './heartbeat.js';
import { cutShort, type Held, heldCommands } from './held.js';
import { leaseLoop } from './lease-loop.js';
import type { WorkerLog } from './log.js';
import type { WorkerMetrics } from './metrics.js';
import type { WakeUps } from './nats-source.js';
import { canTravel, createReleases } from './release.js';
import { createReporter } from './reporter.js';
import { createResultStore } from './results/index.js';
import { builtinTools, toolRegistry } from './tools/index.js';
import type { AnyTool, Suspension } from './tools/tool.js';

export interface WorkerOptions {
  readonly api: WorkerApi;
  /** Unique among the workers of a control plane. */
  readonly workerId: string;
  readonly pools: readonly string[];
  readonly concurrency?: number;
  readonly heartbeatMs?: number;
  readonly drainTimeoutMs?: number;
  readonly pollWaitMs?: number;
  /** Says when asking for commands is worthwhile, so that no poll need be open while there are none. */
  readonly wakeUps?: WakeUps;
  /** A tool that runs longer than this announces its start by a report of its own. */
  readonly announceAfterMs?: number;
  readonly tools?: readonly AnyTool[];
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
const DRAINING = 'worker is draining';
/** Longest text that the server takes. */
const MAX_REASON = 2_000;

export function startWorker(options: WorkerOptions): Worker {
  const { api, workerId, log, metrics } = options;
  const pools = [...options.pools];
  const concurrency = options.concurrency ?? 8;
  const announceAfterMs = options.announceAfterMs ?? 500;
  const { wakeUps } = options;
  const pollWaitMs = wakeUps === undefined ? 20_000 : 1_000;
  const tools = toolRegistry(options.tools ?? builtinTools());
  const workshop: Workshop = { tools, store: createResultStore(api, log), executions: api, log };
  const leasing = new AbortController();
  const living = new AbortController();
  const hurry = new AbortController();
  let phase: WorkerPhase = 'starting';
  let heartbeat: Heartbeat | undefined;
  let registration: Promise<void> | undefined;
  let shuttingDown: Promise<void> | undefined;
  const running = new Set<Promise<void>>();
  let markClosed = (): void => undefined;
  const closed = new Promise<void>((resolve) => {
    markClosed = resolve;
  });

  const held = heldCommands((size) => metrics?.concurrent(size));
  const releases = createReleases({ api, workerId, signal: living.signal, log });

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
      api.lease({ worker_id: workerId, pools, max, wait_ms: options.pollWaitMs ?? pollWaitMs }, { signal }),
    ...(wakeUps === undefined ? {} : { idle: (signal: AbortSignal) => wakeUps.next(signal) }),
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
      else giveBack(command, command.resume, phase === 'ready' ? 'no free slot' : DRAINING);
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
    const ended = execute(run);
    running.add(ended);
    void ended.finally(() => running.delete(ended));
  }

  /** Until the command ends, or is given back to go on later. */
  async function execute(run: Held): Promise<void> {
    const { signal } = run.controller;
    for (;;) {
      const { resume } = run;
      const command = resume === undefined ? run.command : { ...run.command, resume };
      const outcome = await dispatch(command, workshop, signal);
      if (!('delayMs' in outcome)) return finish(run, outcome);
      run.resume = outcome.state;
      if (run.cut === 'lost' || run.cut === 'cancelled') return finish(run, { type: 'raised', error: signal.reason });
      if (await handOver(run, outcome)) return;
      // Nobody else can go on with this state, so its slot is kept.
      log.info(
        { ...idsOf(run), delayMs: outcome.delayMs },
        'suspended command keeps its slot: its state cannot travel',
      );
      await pause(outcome.delayMs, signal);
    }
  }

  /** False when the command has to stay here. Its slot is kept until the server has answered, like that of a finished one. */
  async function handOver(run: Held, { delayMs, state, reason }: Suspension): Promise<boolean> {
    if (!canTravel(state)) return false;
    run.phase = 'releasing';
    clearTimeout(run.startTimer);
    // A start that was announced but not sent yet would come too late: the claim it belongs to ends here.
    if (reporter.withdraw(run.command.command_id, run.command.claim_token)) run.startAnnounced = false;
    log.debug({ ...idsOf(run), delayMs, reason }, 'command is suspended');
    const terms = { reason: reason.slice(0, MAX_REASON), delay_ms: Math.ceil(delayMs), resume: state };
    if ((await releases.release(run.command, terms)) === 'refused') {
      run.phase = 'running';
      if (!run.startAnnounced) announceStart(run);
      return false;
    }
    held.remove(run);
    leases.poke();
    return true;
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
      if (run.cut === 'released') giveBack(run.command, run.resume, DRAINING);
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

  /** Whoever gets it next begins where `resume` says. */
  function giveBack(command: LeasedCommand, resume: Json | undefined, reason: string): void {
    void releases.release(command, { reason, ...(resume === undefined || !canTravel(resume) ? {} : { resume }) });
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
      giveBack(run.command, run.resume, DRAINING);
    }
    await within(FLUSH_WAIT_MS, Promise.all([reporter.idle(), releases.settled()]));
    reporter.close();
    living.abort();
    await within(
      FAREWELL_WAIT_MS,
      api
        .deregisterWorker(workerId)
        .catch((error: unknown) => log.warn({ reason: String(error) }, 'deregistration failed')),
    );
    await within(FAREWELL_WAIT_MS, Promise.allSettled([...tools.values()].map((tool) => tool.close?.())));
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
