// Why an execution is not moving: what the engine waits for, and what the server knows about who should do it.
import type { ExplainItem, ExplainResponse } from '@noetl/client';
import { type CompiledPlaybook, type ExecutionState, isTerminal, type Waiting, waitingFor } from '@noetl/core';

export interface LiveWorker {
  readonly name: string;
  readonly pools: readonly string[];
}

export function explain(
  compiled: CompiledPlaybook,
  state: ExecutionState,
  workers: readonly LiveWorker[],
): ExplainResponse {
  const base = { execution_id: state.executionId, status: state.status };
  if (isTerminal(state)) {
    const reason = state.error === null ? '' : `: ${state.error}`;
    return {
      ...base,
      summary: `The execution ended ${state.status}${reason}`,
      waiting_for: [{ kind: 'terminal', detail: `Ended ${state.status} at ${state.endedAt ?? 'unknown'}${reason}` }],
    };
  }
  const items = waitingFor(compiled, state).map((waiting) => itemOf(waiting, workers));
  const stuck = items.find((item) => item.what_to_do !== undefined);
  const summary = stuck?.detail ?? items[0]?.detail ?? 'Nothing is open; the next event will move it';
  return { ...base, summary, waiting_for: items };
}

function itemOf(waiting: Waiting, workers: readonly LiveWorker[]): ExplainItem {
  switch (waiting.kind) {
    case 'command_pending': {
      const able = workers.filter((worker) => worker.pools.includes(waiting.pool));
      const base = { kind: waiting.kind, step: waiting.step, command_id: waiting.commandId };
      if (able.length === 0) {
        return {
          ...base,
          detail: `Step '${waiting.step}' waits since ${waiting.since} for a worker of pool '${waiting.pool}', and none is alive`,
          what_to_do: `Start one: noetl worker --pool ${waiting.pool}`,
        };
      }
      return {
        ...base,
        detail: `Step '${waiting.step}' is queued for pool '${waiting.pool}' (${able.length} workers alive, all busy or about to take it)`,
      };
    }
    case 'command_running': {
      const alive = workers.some((worker) => worker.name === waiting.workerId);
      return {
        kind: waiting.kind,
        step: waiting.step,
        command_id: waiting.commandId,
        detail: `Step '${waiting.step}' runs at worker '${waiting.workerId}' (attempt ${waiting.attempt})${alive ? '' : ', which has not been heard of lately'}`,
        ...(alive ? {} : { what_to_do: 'Nothing: it is given to another worker when its lease runs out' }),
      };
    }
    case 'timer':
    case 'signal':
    case 'child':
      return { kind: waiting.kind, step: waiting.step, command_id: waiting.commandId, ...parkedDetail(waiting) };
    case 'join':
      return {
        kind: waiting.kind,
        step: waiting.step,
        detail: `Step '${waiting.step}' waits for ${waiting.missing.join(', ') || 'its other branches'}`,
      };
    case 'failure_draining':
      return {
        kind: waiting.kind,
        step: waiting.step,
        detail: `Step '${waiting.step}' failed (${waiting.error}); running steps finish, then the execution ends FAILED`,
      };
  }
}

function parkedDetail(waiting: Extract<Waiting, { kind: 'timer' | 'signal' | 'child' }>): {
  detail: string;
  what_to_do?: string;
} {
  const until = waiting.dueAt === null ? '' : ` until ${waiting.dueAt}`;
  const since = `Step '${waiting.step}' waits since ${waiting.since}`;
  switch (waiting.kind) {
    case 'timer':
      return { detail: `${since}${until}` };
    case 'signal':
      return {
        detail: `${since}${until} for the signal '${waiting.for}'`,
        what_to_do: `Send it: noetl signal EXECUTION ${waiting.for}`,
      };
    case 'child':
      return { detail: `${since}${until} for execution ${waiting.for} to end` };
  }
}
