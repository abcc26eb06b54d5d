// What workers say about the commands they hold. Each report is judged on its own; a report that comes twice under the same claim is
// answered like the first time, one from a lost claim is refused.
import type { CommandReport, ReportResult } from '@noetl/client';
import { commandStep, type Id, type JsonObject, type ProducedEvent, parseId, type Refusal } from '@noetl/core';
import { isTransient, type Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import { type Log, utcTime } from '../log/index.js';
import { TooSlow, within } from '../within.js';
import { commandStatuses } from './store.js';

const REPORTABLE = new Set([
  'command.started',
  'call.done',
  'call.error',
  'command.completed',
  'command.failed',
  'command.cancelled',
]);

/**
 * The executions of one request may be on different shards. When one is away, its reports are handed back so soon: the worker has slots that
 * wait for the others. If one was recorded after all, it is a duplicate when it comes again.
 */
const PATIENCE_MS = 5_000;
const UNAVAILABLE = 'The database is not reachable right now; nothing was lost, try again';

export interface Reporter {
  report(workerId: string, reports: readonly CommandReport[]): Promise<ReportResult[]>;
}

export function createReporter({ log, pools }: { log: Log; pools: Pools }): Reporter {
  async function one(workerId: string, report: CommandReport): Promise<ReportResult> {
    const { command_id } = report;
    try {
      const id = executionOf(report);
      const rows = report.events.map((event) => producedEvent(workerId, report, event));
      const outcomes = await within(
        PATIENCE_MS,
        log.append(
          id,
          rows.map((row) => ({ type: 'event', row, token: report.claim_token })),
        ),
      );
      const refused = outcomes.find((outcome) => outcome.refused !== undefined)?.refused;
      if (refused === undefined) return { command_id, status: 'ok' };
      return explainRefusal(id, report, refused);
    } catch (error) {
      if (error instanceof TooSlow || isTransient(error)) {
        return { command_id, status: 'unavailable', error: UNAVAILABLE };
      }
      if (!(error instanceof ApiProblem) && !isRowRefusal(error)) throw error;
      return { command_id, status: 'rejected', error: (error as Error).message };
    }
  }

  /** The command is not open any more: was it this claim that closed it? */
  async function explainRefusal(id: Id, report: CommandReport, refused: Refusal): Promise<ReportResult> {
    const { command_id, claim_token } = report;
    if (refused === 'stale_claim')
      return { command_id, status: 'stale_claim', error: 'another claim has replaced this one' };
    if (refused === 'not_started')
      return { command_id, status: 'unknown_command', error: `there is no execution ${id}` };
    const found = (await commandStatuses(pools.forExecution(id).pool, [command_id])).get(command_id);
    if (found === undefined)
      return { command_id, status: 'unknown_command', error: `there is no command ${command_id}` };
    if (found.token !== claim_token)
      return { command_id, status: 'stale_claim', error: 'another claim has replaced this one' };
    const succeeded = report.events.some((event) => event.event_type === 'command.completed');
    // Given up by the server after the lease was lost: what the log says stands.
    if (found.status === 'FAILED' && succeeded)
      return { command_id, status: 'stale_claim', error: 'the command was given up' };
    if (found.status === 'CANCELLED')
      return { command_id, status: 'already_terminal', error: 'the command was cancelled' };
    return { command_id, status: 'duplicate' };
  }

  return {
    async report(workerId, reports) {
      const results = await Promise.all(reports.map((report) => one(workerId, report)));
      // Not a word could be recorded: that is not an answer.
      if (results.length > 0 && results.every((result) => result.status === 'unavailable')) {
        throw new ApiProblem('unavailable', UNAVAILABLE, {}, { 'retry-after': '1' });
      }
      return results;
    },
  };
}

function producedEvent(workerId: string, report: CommandReport, event: CommandReport['events'][number]): ProducedEvent {
  if (!REPORTABLE.has(event.event_type)) {
    throw new ApiProblem('invalid', `'${event.event_type}' is not an event that a worker reports`);
  }
  const step = commandStep(report.command_id) ?? null;
  const failed = event.event_type === 'call.error' || event.event_type === 'command.failed';
  const error = event.context.error;
  const meta: JsonObject = {
    ...event.meta,
    command_id: report.command_id,
    worker_id: workerId,
    claim_token: report.claim_token,
  };
  return {
    event_id: null,
    parent_event_id: null,
    parent_execution_id: null,
    event_type: event.event_type,
    node_id: step,
    node_name: step,
    node_type: null,
    status: event.status,
    command_id: report.command_id,
    worker_id: workerId,
    duration: typeof meta.duration_ms === 'number' ? meta.duration_ms / 1000 : null,
    context: null,
    result: { status: event.status, context: event.context },
    meta,
    error: failed && typeof error === 'string' ? error : null,
    created_at: utcTime(event.created_at) ?? event.created_at,
  };
}

function executionOf(report: CommandReport): Id {
  const id = parseId(report.execution_id);
  if (id === undefined || !report.command_id.startsWith(`${id}:`)) {
    throw new ApiProblem(
      'invalid',
      `command '${report.command_id}' does not belong to execution '${report.execution_id}'`,
    );
  }
  return id;
}

/** The database refused the row itself (a value it cannot hold); the worker should report a failure instead. */
function isRowRefusal(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' && /^(22|23|54)/.test(code);
}
