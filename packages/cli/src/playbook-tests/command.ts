// Runs an issued command as a worker would: claim, tool, report; the tool is run by the worker's own dispatch. Commands start in the order
// they were issued, so mocks are used up in that order; of those that end at the same moment any may be the first.
import type { LeasedCommand, ReportedEvent } from '@noetl/client';
import {
  type CommandState,
  type DomainEvent,
  type EventRow,
  type Fact,
  isObject,
  type Json,
  type JsonObject,
} from '@noetl/core';
import { dispatch, endingEvents, startedEvent } from '@noetl/worker';
import type { Execution, Stage } from './stage.js';

const WORKER_ID = 'test';
const LEASE_MS = 60_000;
/** A worker that is late gets this long before the control plane ends its command. */
const GRACE_MS = 5_000;
/** A longer pause between two attempts gives the worker's slot back, and a new claim begins. */
const RELEASE_AFTER_MS = 5_000;
/** The most that a worker puts into an event: a test keeps no results elsewhere. */
const INLINE_BYTES = 16 * 1024 * 1024;

type Issued = Extract<DomainEvent, { type: 'command.issued' }>;

export function beginCommand(stage: Stage, execution: Execution, row: EventRow, issued: Issued): void {
  const { commandId, park, step } = issued;
  if (park === undefined) {
    stage.agenda.plan(0, () => claim(stage, execution, row, issued), 'first');
    return;
  }
  if (park.kind === 'wait') execution.called({ name: step, input: issued.context.args, config: {} });
  if (park.dueAt !== null) planDeadline(stage, execution, commandId, Date.parse(park.dueAt) - stage.agenda.nowMs);
}

function planDeadline(stage: Stage, execution: Execution, commandId: string, afterMs: number): void {
  const token = execution.state.commands[commandId]?.token ?? 0;
  stage.agenda.plan(afterMs, () => void stage.tell(execution, { type: 'due', commandId, token }));
}

async function claim(stage: Stage, execution: Execution, row: EventRow, issued: Issued, resume?: Json): Promise<void> {
  const { commandId, timeoutMs } = issued;
  const { refused } = stage.tell(execution, { type: 'claim', commandId, workerId: WORKER_ID });
  const command = execution.state.commands[commandId];
  if (refused !== undefined || command === undefined) return;
  if (timeoutMs !== undefined) planDeadline(stage, execution, commandId, timeoutMs + GRACE_MS);
  const leased = leasedCommand(row, command, resume);
  const startedAt = new Date(stage.agenda.nowMs);
  stage.tell(execution, reportedFact(leased, startedEvent(leased, startedAt)));
  const released = (state: Json) => claim(stage, execution, row, issued, state);
  await work(stage, execution, leased, startedAt, released);
}

/** Until the tool has ended. `released`: somebody claims the command again, with what the tool has done so far. */
async function work(
  stage: Stage,
  execution: Execution,
  command: LeasedCommand,
  startedAt: Date,
  released: (state: Json) => Promise<void>,
): Promise<void> {
  const { agenda } = stage;
  const { command_id: commandId, claim_token: token } = command;
  // It was cancelled, or timed out, while its tool took its time.
  if (execution.state.commands[commandId]?.token !== token) return;
  const outcome = await dispatch(command, execution.workshop, new AbortController().signal);
  if (stage.stopped) return;
  if (!('delayMs' in outcome)) {
    const report = () => {
      const finishedAt = new Date(agenda.nowMs);
      const times = { startedAt, finishedAt, durationMs: finishedAt.getTime() - startedAt.getTime() };
      for (const event of endingEvents(command, outcome, times)) stage.tell(execution, reportedFact(command, event));
    };
    return agenda.plan(0, report, 'any');
  }
  const { delayMs, reason, state } = outcome;
  // Time inside a tool passes under its claim; between two attempts a worker holds on only for a short while.
  if (execution.asleep.delete(commandId) || delayMs <= RELEASE_AFTER_MS) {
    agenda.plan(delayMs, () => work(stage, execution, { ...command, resume: state }, startedAt, released));
    return;
  }
  stage.tell(execution, { type: 'release', commandId, token, reason, delayMs, countAttempt: false, resume: state });
  agenda.plan(delayMs, () => released(state));
}

function leasedCommand(issued: EventRow, command: CommandState, resume?: Json): LeasedCommand {
  const context = objectOf(issued.context);
  const meta = objectOf(issued.meta);
  return {
    execution_id: issued.execution_id,
    event_id: issued.event_id,
    command_id: command.commandId,
    step: command.step,
    tool_kind: command.toolKind,
    attempt: command.attempt,
    max_attempts: command.maxAttempts,
    claim_token: command.token,
    lease_ms: LEASE_MS,
    context: {
      tool_config: context['tool_config'] ?? {},
      args: objectOf(context['args']),
      render_context: objectOf(context['render_context']),
    },
    meta: { ...meta, output: { ...objectOf(meta['output']), inline_max_bytes: INLINE_BYTES } },
    ...(resume === undefined ? {} : { resume }),
  };
}

function reportedFact(command: LeasedCommand, event: ReportedEvent): Fact {
  const { command_id, step, claim_token } = command;
  const { error } = event.context;
  return {
    type: 'event',
    token: claim_token,
    row: {
      event_id: null,
      parent_event_id: null,
      parent_execution_id: null,
      event_type: event.event_type,
      node_id: step,
      node_name: step,
      node_type: null,
      status: event.status,
      command_id,
      worker_id: WORKER_ID,
      duration: null,
      context: null,
      result: { status: event.status, context: event.context },
      meta: { ...event.meta, command_id, worker_id: WORKER_ID, claim_token },
      error: typeof error === 'string' ? error : null,
      created_at: event.created_at,
    },
  };
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
