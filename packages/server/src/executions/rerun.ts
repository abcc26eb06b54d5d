// Running an execution again: as a whole, or as a fork that begins with what the old one has already done. The old log is never touched.
import { createHash } from 'node:crypto';
import type { RerunResponse } from '@noetl/client';
import {
  canonicalJson,
  type EventRow,
  type ExecutionState,
  type ForkPoint,
  type ForkProblem,
  forkPrefix,
  type Id,
  isObject,
  isTerminal,
  type JsonObject,
  parseId,
  rekey,
  TemplateError,
} from '@noetl/core';
import type { Catalog } from '../catalog/index.js';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import { type Log, readEvents } from '../log/index.js';
import { claimIdempotencyKey } from './store.js';

export type RerunMode = RerunResponse['mode'];
export const RERUN_MODES: readonly RerunMode[] = ['same', 'from_failure', 'from_step', 'from_event'];

/** A fork is one transaction; a longer log is run again from its start instead. */
const MAX_COPIED = 50_000;
const PAGE = 5_000;

export interface Rerunner {
  /** `target`: the id of the new execution; the same id twice is one execution. */
  rerun(source: Id, body: JsonObject, options?: { target?: Id; idempotencyKey?: string }): Promise<RerunResponse>;
}

export function createRerunner(deps: { log: Log; pools: Pools; catalog: Catalog; nextId(): Id }): Rerunner {
  const { log, pools, catalog, nextId } = deps;

  return {
    async rerun(source, body, { target, idempotencyKey } = {}) {
      const request = readRequest(body);
      const state = await log.state(source);
      if (state === undefined) throw new ApiProblem('not_found', `Execution not found: ${source}`);
      const id = target ?? (await resolveId(source, body, idempotencyKey));
      const workload = { ...state.workload, ...request.workload };
      const outcome =
        request.point === null
          ? await again(id, state, workload)
          : await fork(id, state, request.point, request.workload);
      return { execution_id: id, source_execution_id: source, mode: request.point?.mode ?? 'same', ...outcome };
    },
  };

  async function resolveId(source: Id, body: JsonObject, key: string | undefined): Promise<Id> {
    if (key === undefined) return nextId();
    const requestHash = createHash('sha256').update(canonicalJson(body)).digest('hex');
    const claim = { scope: `rerun/${source}`, key, executionId: nextId(), requestHash };
    const holder = await claimIdempotencyKey(pools.cluster, claim);
    if (holder.requestHash !== requestHash)
      throw new ApiProblem('idempotency_conflict', 'This Idempotency-Key was used with another rerun; take a new key');
    return holder.executionId;
  }

  async function again(id: Id, state: Readonly<ExecutionState>, workload: JsonObject) {
    await catalog.compiled(state.catalogId);
    const [outcome] = await guarded(() =>
      log.append(id, [
        {
          type: 'start',
          path: state.path,
          catalogId: state.catalogId,
          payload: workload,
          pool: state.pool,
          parentExecutionId: null,
          parentEventId: null,
          trace: state.trace,
          rerunOf: state.executionId,
        },
      ]),
    );
    return summary(outcome, 0);
  }

  async function fork(id: Id, state: Readonly<ExecutionState>, point: ForkPoint, changes: JsonObject) {
    if (point.mode !== 'from_event' && !isTerminal(state))
      throw new ApiProblem('conflict', `Execution ${state.executionId} is still running; cancel it first`);
    const { graph } = await catalog.compiled(state.catalogId);
    if (point.mode === 'from_step' && !graph.indexOf.has(point.step))
      throw new ApiProblem('invalid', `'${state.path}' has no step '${point.step}' (steps: ${graph.names.join(', ')})`);
    const prefix = forkPrefix(graph, await wholeLog(state), point);
    if (typeof prefix === 'string') throw problemOf(prefix, state, point);
    const [outcome] = await guarded(() =>
      log.append(id, [
        {
          type: 'fork',
          catalogId: state.catalogId,
          rows: rekey(prefix.rows, id, nextId),
          source: state.executionId,
          sourceEventId: prefix.lastEventId,
          mode: point.mode,
          workload: { ...prefix.workload, ...changes },
        },
      ]),
    );
    return summary(outcome, prefix.rows.length);
  }

  async function wholeLog({ executionId, version }: Readonly<ExecutionState>): Promise<EventRow[]> {
    if (version > MAX_COPIED)
      throw new ApiProblem(
        'invalid',
        `The log has ${version} events; at most ${MAX_COPIED} can be copied: run it again with mode 'same'`,
      );
    const rows: EventRow[] = [];
    const { pool } = pools.forExecution(executionId);
    for (;;) {
      const page = await readEvents(pool, executionId, rows.length, PAGE);
      rows.push(...page);
      if (page.length < PAGE) return rows;
    }
  }
}

function summary(outcome: { refused?: string; rows: readonly EventRow[] } | undefined, copied: number) {
  const issued = (outcome?.rows ?? []).slice(copied).filter((row) => row.event_type === 'command.issued');
  return {
    status: outcome?.refused === undefined ? ('started' as const) : ('duplicate' as const),
    copied_events: copied,
    commands_generated: issued.length,
  };
}

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TemplateError) throw new ApiProblem('invalid', `workload: ${error.message}`);
    throw error;
  }
}

interface Request {
  /** Null: the whole execution. */
  readonly point: ForkPoint | null;
  readonly workload: JsonObject;
}

function readRequest(body: JsonObject): Request {
  const mode = body.mode ?? 'same';
  const workload = body.workload ?? body.payload ?? {};
  if (!isObject(workload)) throw new ApiProblem('invalid', "field 'workload' must be an object");
  switch (mode) {
    case 'same':
      return { point: null, workload };
    case 'from_failure':
      return { point: { mode }, workload };
    case 'from_step':
      if (typeof body.step !== 'string' || body.step === '')
        throw new ApiProblem('invalid', "field 'step' must name the step to run from");
      return { point: { mode, step: body.step }, workload };
    case 'from_event': {
      const eventId = parseId(body.event_id);
      if (eventId === undefined)
        throw new ApiProblem('invalid', "field 'event_id' must be the id of the last event to keep");
      return { point: { mode, eventId }, workload };
    }
    default:
      throw new ApiProblem('invalid', `field 'mode' must be one of ${RERUN_MODES.join(', ')}`);
  }
}

function problemOf(problem: ForkProblem, state: Readonly<ExecutionState>, point: ForkPoint): ApiProblem {
  switch (problem) {
    case 'nothing_failed':
      return new ApiProblem(
        'invalid',
        `Execution ${state.executionId} ended ${state.status} and nothing in it failed; use mode 'same' or 'from_step'`,
      );
    case 'step_never_ran':
      return new ApiProblem('invalid', `Step '${point.mode === 'from_step' ? point.step : ''}' never ran`);
    case 'unknown_event':
      return new ApiProblem(
        'invalid',
        `Execution ${state.executionId} has no event ${point.mode === 'from_event' ? point.eventId : ''}`,
      );
    case 'nothing_to_keep':
      return new ApiProblem('invalid', "Nothing would be kept of the old log; use mode 'same'");
  }
}
