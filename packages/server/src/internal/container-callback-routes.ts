// The end of a container, told by the cluster that ran it. What must stay true:
//  - a delivery that is repeated, also to another server, is one event: its id is remembered with the job and its state;
//  - the step goes on by the append, like after any report; nobody here decides anything;
//  - a container that ends before its worker has said that it waits for a callback is told again: else the step would wait for ever.
import { commandIdOf, type ExecutionState, type Id, isObject, parseId } from '@noetl/core';
import { Counter, type Registry } from 'prom-client';
import { Type } from 'typebox';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import { claimIdempotencyKey } from '../executions/index.js';
import type { App } from '../http/index.js';
import { eventPage, type Log, type Outcome } from '../log/index.js';
import { type ContainerEnd, callbackKey, containerEvent, readContainerEnd } from './container-callback.js';

export interface ContainerCallbackDeps {
  readonly log: Log;
  readonly pools: Pools;
  readonly registry: Registry;
  nextId(): Id;
}

type CommandOf = ExecutionState['commands'][string];

/** How far back the log is searched for the job of one of several commands that wait. */
const HANDOVERS_READ = 10_000;

export function containerCallbackRoutes(app: App, { log, pools, registry, nextId }: ContainerCallbackDeps): void {
  const told = new Counter({
    name: 'noetl_container_callbacks_total',
    help: 'Ends of containers that a cluster told: the step went on, nobody waited for it, it was told before, or there is no such execution',
    labelNames: ['outcome'] as const,
    registers: [registry],
  });
  for (const outcome of ['closed', 'recorded', 'duplicate', 'stale']) told.inc({ outcome }, 0);

  app.post(
    '/api/internal/container-callback/:execution_id/:step',
    {
      schema: {
        tags: ['internal'],
        summary: 'Tell how a container ended that a step was handed over to',
        params: Type.Object({ execution_id: Type.String(), step: Type.String() }),
        body: Type.Any(),
      },
    },
    async (request, reply) => {
      const id = parseId(request.params.execution_id);
      if (id === undefined) throw new ApiProblem('invalid', 'Invalid execution_id');
      const step = request.params.step.trim();
      if (step === '') throw new ApiProblem('invalid', 'The step must not be blank');
      const end = readContainerEnd(request.body);
      reply.code(202);

      const stale = () => {
        told.inc({ outcome: 'stale' });
        return { status: 'accepted_stale' };
      };
      const state = await log.state(id);
      if (state === undefined) return stale();
      const commandId = await waitingCommand(state, step, end);
      const key = callbackKey(step, end);
      const claim = { scope: `container/${id}`, key, executionId: nextId(), requestHash: '' };
      const { executionId: eventId } = await claimIdempotencyKey(pools.cluster, claim);
      const [outcome, closed] = await record(id, step, end, eventId, commandId);
      if (outcome?.refused !== undefined) return stale();
      told.inc({ outcome: outcome?.duplicate === true ? 'duplicate' : closed ? 'closed' : 'recorded' });
      return { status: 'accepted_in_flight', event_id: eventId };
    },
  );

  /** Null when no command of the step waits for a callback. */
  async function waitingCommand(
    state: Readonly<ExecutionState>,
    step: string,
    end: ContainerEnd,
  ): Promise<string | null> {
    const open = Object.values(state.commands).filter((command) => command.step === step);
    const waiting = open.filter(
      ({ handedOver, commandId }) => handedOver && (end.commandId ?? commandId) === commandId,
    );
    const [first] = waiting;
    if (first !== undefined)
      return waiting.length === 1 ? first.commandId : commandOfJob(state.executionId, waiting, first, end);
    if (open.some(({ status }) => status === 'CLAIMED' || status === 'RUNNING')) {
      throw new ApiProblem(
        'unavailable',
        `The worker of step '${step}' has not handed it over yet; nothing was recorded, try again`,
        {},
        { 'retry-after': '1' },
      );
    }
    return null;
  }

  /** The items of a loop wait side by side, each for a job of its own; the event that handed a command over names its job. */
  async function commandOfJob(
    id: Id,
    waiting: readonly CommandOf[],
    first: CommandOf,
    { jobUid, jobName }: ContainerEnd,
  ): Promise<string> {
    const { pool } = pools.forExecution(id);
    const query = { sinceEventId: null, newestFirst: true, limit: HANDOVERS_READ, offset: 0 };
    const { events } = await eventPage(pool, id, { ...query, eventType: 'command.completed' });
    const found = events.find((row) => {
      const context = isObject(row.result) && isObject(row.result.context) ? row.result.context : {};
      const isJob = jobUid === undefined ? context.job_name === jobName : context.job_uid === jobUid;
      return isJob && waiting.some(({ commandId }) => commandId === commandIdOf(row));
    });
    return (found === undefined ? undefined : commandIdOf(found)) ?? first.commandId;
  }

  async function record(
    id: Id,
    step: string,
    end: ContainerEnd,
    eventId: Id,
    commandId: string | null,
  ): Promise<[Outcome | undefined, closed: boolean]> {
    const row = containerEvent(step, end, { eventId, commandId, now: new Date().toISOString() });
    const [outcome] = await log.append(id, [{ type: 'event', row }]);
    // Its command was closed while we looked, by a cancel perhaps: then it only goes on record.
    if (outcome?.refused !== undefined && commandId !== null) return record(id, step, end, eventId, null);
    return [outcome, commandId !== null];
  }
}
