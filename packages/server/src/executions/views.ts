// How executions and events look to clients. Secrets are masked here, on the way out; the log keeps what was written.
import type { ExecutionSummary, ResultResponse, StatusResponse, WireEvent } from '@noetl/client';
import { type EventRow, type ExecutionState, type Json, redact } from '@noetl/core';
import type { ExecutionRow } from './store.js';

export function summaryOf(row: ExecutionRow, version: number | null): ExecutionSummary {
  const seconds = durationSeconds(row);
  return {
    execution_id: row.execution_id,
    catalog_id: row.catalog_id,
    path: row.path,
    version,
    status: row.status,
    start_time: row.start_time,
    end_time: row.end_time,
    started_at: row.start_time,
    completed_at: row.end_time,
    duration_seconds: seconds,
    duration_human: seconds === null ? null : humanDuration(seconds),
    progress: row.end_time === null ? 0 : 100,
    error: shownText(row.error),
    parent_execution_id: row.parent_execution_id,
    event_count: row.head_version,
  };
}

export function wireEvent(row: EventRow): WireEvent {
  return {
    ...row,
    status: row.status ?? 'UNKNOWN',
    context: redact(row.context),
    result: redact(row.result),
    meta: redact(row.meta),
    error: shownText(row.error),
    timestamp: row.created_at,
  };
}

export function statusOf(row: ExecutionRow, state: ExecutionState): StatusResponse {
  const seconds = durationSeconds(row);
  const steps = Object.entries(state.steps);
  const inPhase = (phase: string) => steps.filter(([, step]) => step.phase === phase).map(([name]) => name);
  const completed = inPhase('done');
  const entered = steps.filter(([, step]) => step.run > 0 && step.phase !== 'skipped' && step.phase !== 'guarded');
  const current = entered.reduce<string | null>(
    (latest, [name, step]) =>
      latest === null || (step.enteredAt ?? '') >= (state.steps[latest]?.enteredAt ?? '') ? name : latest,
    null,
  );
  const terminal = row.status !== 'RUNNING' && row.status !== 'PENDING';
  return {
    execution_id: row.execution_id,
    status: row.status,
    path: row.path,
    current_step: current,
    progress: {
      total_steps: entered.length,
      completed_steps: completed.length,
      running_steps: inPhase('active').length,
      failed_steps: inPhase('failed').length,
    },
    is_cancelled: row.status === 'CANCELLED',
    completed: terminal,
    failed: row.status === 'FAILED',
    completed_steps: completed,
    error: shownText(row.error),
    start_time: row.start_time,
    end_time: row.end_time,
    duration_seconds: seconds,
    duration_human: seconds === null ? null : humanDuration(seconds),
  };
}

/** `show` masks secrets, except for a worker that hands the data on. */
export function resultOf(state: ExecutionState, show: (data: Json) => Json = redact): ResultResponse {
  const steps: Record<string, Json> = Object.create(null); // steps may be called `__proto__`
  for (const [name, step] of Object.entries(state.steps)) if (step.hasData) steps[name] = show(step.data);
  const { failure } = state;
  const failed = state.status === 'FAILED' || state.status === 'CANCELLED';
  return {
    execution_id: state.executionId,
    status: state.status,
    ...(failed
      ? {
          error: {
            message: shownText(state.error ?? failure?.error ?? 'failed') ?? 'failed',
            ...(failure === null ? {} : { step: failure.step }),
            ...(failure?.eventId == null ? {} : { event_id: failure.eventId }),
            ...(failure?.info == null ? {} : { info: redact(failure.info as unknown as Json) }),
          },
        }
      : {}),
    result: state.lastStep === null ? null : (steps[state.lastStep] ?? null),
    steps,
  };
}

/** Error texts quote what failed, and that may be an address with a password. */
export function shownText(text: string | null): string | null {
  const shown = redact(text);
  return typeof shown === 'string' ? shown : null;
}

function durationSeconds(row: ExecutionRow): number | null {
  return row.end_time === null ? null : (Date.parse(row.end_time) - Date.parse(row.start_time)) / 1000;
}

/** `1d 2h 3m 4s` without the zeros, at least `0s`. */
export function humanDuration(seconds: number): string {
  let rest = Math.round(seconds);
  const parts: string[] = [];
  for (const [unit, size] of [
    ['d', 86_400],
    ['h', 3_600],
    ['m', 60],
    ['s', 1],
  ] as const) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count}${unit}`);
  }
  return parts.join(' ') || '0s';
}
