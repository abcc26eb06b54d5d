// Routes for workers: our own lease and report, and the reference protocol (get, claim) on the same log.
import type { CommandReport, ReleaseRequest } from '@noetl/client';
import { type Id, isObject, type Json, parseId, rawId } from '@noetl/core';
import { Type } from 'typebox';
import { fromAnyShard, type Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import type { Log } from '../log/index.js';
import type { Metrics } from '../observability/index.js';
import type { LeaseDesk } from './lease.js';
import type { Reporter } from './report.js';
import { type CommandRow, commandByEventId } from './store.js';

export interface CommandDeps {
  readonly log: Log;
  readonly pools: Pools;
  readonly desk: LeaseDesk;
  readonly reporter: Reporter;
  readonly metrics: Metrics;
  /** Aborted when the server stops: nobody is kept waiting. */
  readonly closing: AbortSignal;
}

const REPORT_LIMIT = 64 * 1024 * 1024;
/** A list of tools that waits leaves everything it knows. */
const RELEASE_LIMIT = 8 * 1024 * 1024;
const Pool = Type.String({ minLength: 1, maxLength: 64 });
const WorkerId = Type.String({ minLength: 1, maxLength: 255 });
const EventParams = Type.Object({ event_id: Type.String({ description: 'Id of the command.issued event' }) });

export function commandRoutes(app: App, deps: CommandDeps): void {
  const { log, pools, desk, reporter, metrics, closing } = deps;

  app.post(
    '/api/commands/lease',
    {
      schema: {
        tags: ['workers'],
        summary: 'Claim commands; waits up to wait_ms when none is ready',
        body: Type.Object({
          worker_id: WorkerId,
          pools: Type.Array(Pool, { minItems: 1, maxItems: 64 }),
          max: Type.Integer({ minimum: 1, maximum: 1000 }),
          wait_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 30_000 })),
        }),
      },
    },
    async (request, reply) => {
      const { worker_id, pools: names, max, wait_ms = 0 } = request.body;
      const gone = new AbortController();
      // The response, not the request: a request is closed as soon as its body was read.
      reply.raw.on('close', () => gone.abort());
      const wish = { workerId: worker_id, pools: names, max, waitMs: wait_ms };
      const commands = await desk.lease({ ...wish, signal: gone.signal, hurry: closing });
      metrics.claimed('granted', commands.length);
      return { commands };
    },
  );

  app.post(
    '/api/worker/report',
    {
      bodyLimit: REPORT_LIMIT,
      schema: {
        tags: ['workers'],
        summary: 'Report on commands and claim the next ones in the same transaction',
        body: Type.Object({
          worker_id: WorkerId,
          reports: Type.Array(Type.Any(), { maxItems: 1000 }),
          lease: Type.Optional(
            Type.Object({ pools: Type.Array(Pool), max: Type.Integer({ minimum: 0, maximum: 1000 }) }),
          ),
        }),
      },
    },
    async (request) => {
      const { worker_id, lease } = request.body;
      const reports = request.body.reports.map((report, index) => readReport(report as Json, index));
      let results: Awaited<ReturnType<Reporter['report']>> = [];
      const work = async () => {
        results = await reporter.report(worker_id, reports);
      };
      const wish = { workerId: worker_id, pools: lease?.pools ?? [], max: lease?.max ?? 0 };
      const commands = await desk.leaseDuring(wish, work);
      metrics.claimed('granted', commands.length);
      return { results, commands };
    },
  );

  app.post(
    '/api/commands/:event_id/release',
    {
      bodyLimit: RELEASE_LIMIT,
      schema: {
        tags: ['workers'],
        summary: 'Give a claimed command back',
        params: EventParams,
        body: Type.Object({
          worker_id: WorkerId,
          claim_token: Type.Integer({ minimum: 1 }),
          reason: Type.String({ maxLength: 2000 }),
          delay_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000 })),
          count_attempt: Type.Optional(Type.Boolean()),
          resume: Type.Optional(Type.Any({ description: 'Comes back with the next lease' })),
        }),
      },
    },
    async (request) => {
      const command = await mustFind(request.params.event_id);
      const body: ReleaseRequest = request.body;
      const [outcome] = await log.append(command.executionId, [
        {
          type: 'release',
          commandId: command.commandId,
          token: body.claim_token,
          reason: body.reason,
          delayMs: body.delay_ms ?? 0,
          countAttempt: body.count_attempt ?? true,
          ...(body.resume === undefined ? {} : { resume: body.resume }),
        },
      ]);
      if (outcome?.refused === 'stale_claim')
        throw new ApiProblem('stale_claim', 'Another claim has replaced this one');
      if (outcome?.refused !== undefined)
        throw new ApiProblem('already_terminal', 'Command already reached terminal state');
      return { status: 'ok', command_id: command.commandId };
    },
  );

  app.get(
    '/api/commands/:event_id',
    { schema: { tags: ['workers'], summary: 'A command, without claiming it', params: EventParams } },
    async (request) => {
      const { executionId, step, toolKind, context, meta } = await mustFind(request.params.event_id);
      return { execution_id: rawId(executionId), node_id: step, node_name: step, action: toolKind, context, meta };
    },
  );

  app.post(
    '/api/commands/:event_id/claim',
    {
      schema: {
        tags: ['workers'],
        summary: 'Claim one command (reference protocol)',
        params: EventParams,
        body: Type.Object({ worker_id: WorkerId }),
      },
    },
    async (request) => {
      const command = await mustFind(request.params.event_id);
      const { worker_id } = request.body;
      const [outcome] = await log.append(command.executionId, [
        { type: 'claim', commandId: command.commandId, workerId: worker_id },
      ]);
      const token = outcome?.command?.token;
      const held = outcome?.refused === 'already_claimed' && outcome.command?.workerId === worker_id;
      metrics.claimed(outcome?.refused === undefined || held ? 'granted' : 'refused', 1);
      if (outcome?.refused !== undefined && !held) {
        throw await claimRefusal(command, outcome.refused, outcome.command?.workerId ?? null);
      }
      const { executionId, eventId, step, toolKind, context } = command;
      return {
        status: 'ok',
        event_id: rawId(eventId),
        execution_id: rawId(executionId),
        node_id: step,
        node_name: step,
        action: toolKind,
        context,
        meta: {
          ...(isObject(command.meta) ? command.meta : {}),
          attempt: outcome?.command?.attempt ?? command.attempt,
          ...(token === undefined ? {} : { claim_token: token }),
        },
      };
    },
  );

  async function claimRefusal(command: CommandRow, refused: string, holder: string | null): Promise<ApiProblem> {
    if (refused === 'already_claimed') {
      return new ApiProblem('active_claim', `Command already claimed by ${holder}`, {}, { 'retry-after': '2' });
    }
    const now = await commandByEventId(pools.forExecution(command.executionId).pool, command.eventId);
    return now?.status === 'CANCELLED'
      ? new ApiProblem('execution_cancelled', 'Execution has been cancelled')
      : new ApiProblem('already_terminal', 'Command already reached terminal state');
  }

  /** An event id does not say which shard it lives on: all are asked at once. */
  async function mustFind(rawEventId: string): Promise<CommandRow> {
    const id = parseId(rawEventId);
    if (id === undefined) throw new ApiProblem('malformed', `'${rawEventId.slice(0, 40)}' is not an event id`);
    const found = await fromAnyShard(
      pools,
      (shard) => commandByEventId(shard.pool, id),
      (rows) => rows.some((row) => row !== undefined),
    );
    const command = found.find((row) => row !== undefined);
    if (command === undefined) throw new ApiProblem('not_found', `command.issued event not found: ${id}`);
    return command;
  }
}

/** Checked by hand: a schema of this depth would cost more than the append. */
function readReport(report: Json, index: number): CommandReport {
  const bad = (what: string) => new ApiProblem('invalid', `reports[${index}]: ${what}`);
  if (!isObject(report)) throw bad('must be an object');
  const { command_id, claim_token, events } = report;
  const id: Id | undefined = parseId(report.execution_id);
  if (id === undefined) throw bad("'execution_id' must be an id");
  if (typeof command_id !== 'string') throw bad("'command_id' must be a string");
  if (typeof claim_token !== 'number' || !Number.isSafeInteger(claim_token))
    throw bad("'claim_token' must be an integer");
  if (!Array.isArray(events) || events.length === 0) throw bad("'events' must be a non-empty list");
  for (const event of events) {
    if (!isObject(event) || typeof event.event_type !== 'string' || typeof event.status !== 'string') {
      throw bad("every event needs 'event_type' and 'status'");
    }
    if (typeof event.created_at !== 'string' || Number.isNaN(Date.parse(event.created_at)))
      throw bad("'created_at' must be a time");
    if (!isObject(event.context)) throw bad("'context' must be an object");
    if (event.meta !== undefined && !isObject(event.meta)) throw bad("'meta' must be an object");
  }
  return { execution_id: id, command_id, claim_token, events: events as unknown as CommandReport['events'] };
}
