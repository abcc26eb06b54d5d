// A control plane for tests: it keeps the worker's side of the contract (claims with tokens, one owner at a time, stale
// reports refused, long polls, release) in memory, and can be told to be away or to refuse. Delays pass, and executions end,
// when the test says so.
import type {
  CommandReport,
  ExecuteRequest,
  ExecutionStatus,
  LeasedCommand,
  LeaseRequest,
  ReleaseRequest,
  ReportRequest,
  ReportResult,
  StatusResponse,
} from '@noetl/client';
import type { Json, JsonObject } from '@noetl/core';
import type { WorkerApi } from './api.js';

interface Row {
  readonly command: Omit<LeasedCommand, 'claim_token' | 'resume'>;
  token: number;
  state: 'pending' | 'delayed' | 'claimed' | 'done';
  attempts: number;
  /** What the last release said. */
  resume: Json | undefined;
}

/** An execution that a tool has started. */
export interface Child {
  readonly id: string;
  readonly key: string;
  readonly request: ExecuteRequest;
  status: ExecutionStatus;
  error: string | null;
  steps: Record<string, Json>;
  result: Json;
}

export class Refusal extends Error {
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(status: number | undefined, retryAfterMs?: number) {
    super(status === undefined ? 'connect ECONNREFUSED' : `HTTP ${status}`);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface ControlPlane {
  readonly api: WorkerApi;
  /** Every event that was recorded, in order. */
  readonly recorded: { command_id: string; event_type: string; context: JsonObject }[];
  /** Every request, by name. */
  readonly calls: { name: string; request: unknown }[];
  readonly released: ReleaseRequest[];
  /** Executions that tools have started, in order. */
  readonly children: Child[];
  /** Contents of the result store, by reference. */
  readonly stored: Map<string, Json>;
  readonly registered: Set<string>;
  readonly cancelled: Set<string>;
  readonly lost: Set<string>;
  /** The largest number of commands claimed at once. */
  readonly mostClaimed: number;
  readonly claimed: number;
  add(id: string, parts?: Partial<LeasedCommand>): void;
  /** Takes the command away from its owner and offers it again. */
  expire(id: string): void;
  /** The delay that it was given back with is over. */
  pass(id: string): void;
  /** Called before each request; what it throws is what the worker gets. */
  interfere: (name: string, request: unknown) => void | Promise<void>;
  terminal(id: string): string | undefined;
  /** Resolves when `condition` holds; it is looked at after each request. */
  until(condition: () => boolean): Promise<void>;
}

const TERMINAL = new Set(['command.completed', 'command.failed', 'command.cancelled']);

export function controlPlane(): ControlPlane {
  const rows = new Map<string, Row>();
  const polls = new Set<() => void>();
  const watchers = new Set<() => void>();
  const calls: ControlPlane['calls'] = [];
  const recorded: ControlPlane['recorded'] = [];
  const released: ReleaseRequest[] = [];
  const children: Child[] = [];
  const stored = new Map<string, Json>();
  const registered = new Set<string>();
  const cancelled = new Set<string>();
  const lost = new Set<string>();
  let tokens = 0;
  let mostClaimed = 0;

  const look = (): void => {
    for (const watcher of [...watchers]) watcher();
  };
  const offer = (): void => {
    for (const poll of [...polls]) poll();
  };
  const countClaimed = (): number => [...rows.values()].filter((row) => row.state === 'claimed').length;

  const claim = (max: number): LeasedCommand[] => {
    const free = [...rows.values()].filter((row) => row.state === 'pending').slice(0, max);
    const commands = free.map((row) => {
      row.state = 'claimed';
      row.attempts += 1;
      tokens += 1;
      row.token = tokens;
      const { resume } = row;
      const claimed = { ...row.command, attempt: row.attempts, claim_token: row.token };
      return resume === undefined ? claimed : { ...claimed, resume };
    });
    mostClaimed = Math.max(mostClaimed, countClaimed());
    return commands;
  };

  const record = (report: CommandReport): ReportResult => {
    const { command_id } = report;
    const row = rows.get(command_id);
    if (row === undefined) return { command_id, status: 'unknown_command' };
    if (row.state === 'done')
      return { command_id, status: row.token === report.claim_token ? 'duplicate' : 'already_terminal' };
    if (row.token !== report.claim_token) return { command_id, status: 'stale_claim' };
    for (const { event_type, context } of report.events) {
      recorded.push({ command_id, event_type, context });
      if (TERMINAL.has(event_type)) row.state = 'done';
    }
    return { command_id, status: 'ok' };
  };

  const childOf = (id: string): Child => {
    const child = children.find((one) => one.id === id);
    if (child === undefined) throw new Refusal(404);
    return child;
  };

  const plane: ControlPlane = {
    recorded,
    calls,
    released,
    children,
    stored,
    registered,
    cancelled,
    lost,
    get mostClaimed() {
      return mostClaimed;
    },
    get claimed() {
      return countClaimed();
    },
    interfere: () => undefined,
    add(id, parts = {}) {
      const command = {
        execution_id: 'x',
        event_id: `event-${id}`,
        command_id: id,
        step: `step-${id}`,
        tool_kind: 'test',
        attempt: 0,
        max_attempts: 3,
        lease_ms: 30_000,
        context: { tool_config: {}, args: {}, render_context: {} },
        meta: {},
        ...parts,
      };
      const { resume, ...rest } = command;
      rows.set(id, { command: rest, token: 0, state: 'pending', attempts: 0, resume });
      offer();
    },
    expire(id) {
      const row = rows.get(id);
      if (row === undefined) throw new Error(`no command ${id}`);
      row.state = 'pending';
      row.token = -1;
      row.resume = undefined;
      offer();
    },
    pass(id) {
      const row = rows.get(id);
      if (row?.state !== 'delayed') throw new Error(`${id} is not delayed`);
      row.state = 'pending';
      offer();
    },
    terminal(id) {
      return recorded.find((event) => event.command_id === id && TERMINAL.has(event.event_type))?.event_type;
    },
    until(condition) {
      return new Promise((resolve) => {
        const watcher = (): void => {
          if (!condition()) return;
          watchers.delete(watcher);
          resolve();
        };
        watchers.add(watcher);
        watcher();
      });
    },
    api: {
      registerWorker: (request) => handle('register', request, () => registered.add(request.name)),
      heartbeat: (request) =>
        handle('heartbeat', request, () => {
          if (!registered.has(request.name)) throw new Refusal(404);
          return { status: 'ok', message: '', cancelled: [...cancelled], lost: [...lost] };
        }),
      deregisterWorker: (name) => handle('deregister', name, () => registered.delete(name)),
      lease: (request, options) => handle('lease', request, () => longPoll(request, options?.signal)),
      report: (request) =>
        handle('report', request, () => ({
          results: request.reports.map(record),
          commands: request.lease === undefined ? [] : claim(request.lease.max),
        })),
      release: (eventId, request) =>
        handle('release', request, () => {
          const row = [...rows.values()].find(({ command }) => command.event_id === eventId);
          if (row?.state !== 'claimed' || row.token !== request.claim_token) throw new Refusal(409);
          released.push(request);
          if (request.count_attempt === false) row.attempts -= 1;
          row.state = (request.delay_ms ?? 0) > 0 ? 'delayed' : 'pending';
          row.resume = request.resume;
          offer();
        }),
      execute: (request, { idempotencyKey }) =>
        handle('execute', request, () => {
          const known = children.find((child) => child.key === idempotencyKey);
          const id = known?.id ?? `child-${children.length + 1}`;
          if (known === undefined) {
            const open = { status: 'RUNNING', error: null, steps: {}, result: null } as const;
            children.push({ id, key: idempotencyKey, request, ...open });
          }
          return { execution_id: id, status: known === undefined ? 'started' : 'duplicate', commands_generated: 1 };
        }),
      status: (id) => handle('status', id, () => statusOf(childOf(id))),
      childResult: (id) =>
        handle('result', id, () => {
          const { status, steps, result } = childOf(id);
          return { execution_id: id, status, steps, result };
        }),
      cancel: (id) =>
        handle('cancel', id, () => {
          childOf(id).status = 'CANCELLED';
        }),
      putResult: (executionId, request) =>
        handle('putResult', request, () => {
          const ref = `noetl://execution/${executionId}/result/${request.name}/${stored.size + 1}`;
          stored.set(ref, request.data);
          const bytes = JSON.stringify(request.data).length;
          return { ref, store: 'db', scope: request.scope ?? 'execution', bytes, sha256: '', expires_at: null };
        }),
      resolveResult: (ref) =>
        handle('resolveResult', ref, () => {
          const content = stored.get(ref);
          if (content === undefined) throw new Refusal(404);
          return content;
        }),
    },
  };

  async function handle<T>(name: string, request: unknown, answer: () => T | Promise<T>): Promise<T> {
    calls.push({ name, request });
    try {
      await plane.interfere(name, request);
      return await answer();
    } finally {
      // After the worker has seen the answer.
      setImmediate(look);
    }
  }

  function longPoll(request: LeaseRequest, signal?: AbortSignal): Promise<{ commands: LeasedCommand[] }> {
    return new Promise((resolve, reject) => {
      const end = (commands: LeasedCommand[]): void => {
        polls.delete(attempt);
        signal?.removeEventListener('abort', aborted);
        resolve({ commands });
      };
      const attempt = (): void => {
        const commands = claim(request.max);
        if (commands.length > 0) end(commands);
      };
      const aborted = (): void => {
        polls.delete(attempt);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', aborted, { once: true });
      polls.add(attempt);
      attempt();
    });
  }

  return plane;
}

function statusOf({ id, request, status, error }: Child): StatusResponse {
  return {
    execution_id: id,
    status,
    path: request.path ?? '',
    current_step: null,
    progress: { total_steps: 1, completed_steps: 0, running_steps: 1, failed_steps: 0 },
    is_cancelled: status === 'CANCELLED',
    completed: status !== 'PENDING' && status !== 'RUNNING',
    failed: status === 'FAILED',
    completed_steps: [],
    error,
    start_time: '2026-01-02T03:04:05.000Z',
    end_time: null,
    duration_seconds: null,
    duration_human: null,
  };
}

export function reportsOf(plane: ControlPlane): ReportRequest[] {
  return plane.calls.filter(({ name }) => name === 'report').map(({ request }) => request as ReportRequest);
}

export function eventsOf(plane: ControlPlane, commandId: string): string[] {
  return plane.recorded.filter((event) => event.command_id === commandId).map((event) => event.event_type);
}

/** How many requests of this name arrived. */
export function count(plane: ControlPlane, name: string): number {
  return plane.calls.filter((call) => call.name === name).length;
}
