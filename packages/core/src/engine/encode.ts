// Domain events to log rows. The rows are the contract with reference workers and readers (docs/events.md): names, status words and
// payload places stay exactly as they are. decode.ts reads them back; codec.test.ts holds the two together.
import type { Id } from '../ids/index.js';
import type { JsonObject } from '../json/types.js';
import type { CommandIssued, DomainEvent } from './events.js';
import type { EventRow } from './row.js';

/** The part of a row that follows from the event itself; the log adds ids, version and time. */
export type EncodedEvent = Pick<
  EventRow,
  | 'event_type'
  | 'node_id'
  | 'node_name'
  | 'node_type'
  | 'status'
  | 'command_id'
  | 'worker_id'
  | 'context'
  | 'result'
  | 'meta'
  | 'error'
>;

const ENGINE = 'orchestrator';

export function encode(event: DomainEvent, executionId: Id, catalogId: Id): EncodedEvent {
  switch (event.type) {
    case 'playbook_started':
      return {
        ...blank(event.type, 'playbook', event.path, 'STARTED'),
        node_type: 'execution',
        context: {
          catalog_id: event.catalogId,
          execution_id: executionId,
          path: event.path,
          workload: event.workload,
        },
        meta: {
          emitter: 'control_plane',
          execution_pool: event.pool,
          engine_rev: event.engineRev,
          ...(event.trace === null ? {} : { trace: event.trace }),
          ...(event.depth === 0 ? {} : { depth: event.depth }),
          ...(event.caller === null
            ? {}
            : { parent_command_id: event.caller.commandId, return_step: event.caller.returnStep }),
          ...(event.rerunOf === undefined ? {} : { rerun_of: event.rerunOf }),
          ...(event.callbackUrl === undefined ? {} : { callback_url: event.callbackUrl }),
        },
      };
    case 'step.enter':
      return {
        ...blank(event.type, event.step, event.step, 'ENTERED'),
        ...(event.loop === undefined
          ? {}
          : {
              result: {
                status: 'ENTERED',
                context: {
                  iterations_expected: event.loop.items.length,
                  iterator_var: event.loop.iterator,
                  max_in_flight: event.loop.maxInFlight,
                  on_error: event.loop.onError,
                  collection: [...event.loop.items],
                  ...(event.loop.cursor === undefined ? {} : { __cursor_loop: true, frame: plain(event.loop.cursor) }),
                },
              },
            }),
        meta: {
          emitted_by: ENGINE,
          run: event.run,
          ...(event.loop === undefined ? {} : { loop_id: event.loop.loopId, collection_size: event.loop.items.length }),
        },
      };
    case 'step.skipped':
      return {
        ...blank(event.type, event.step, event.step, 'SKIPPED'),
        meta: { emitted_by: ENGINE, run: event.run, reason: event.reason },
      };
    case 'step.failed':
      return {
        ...blank(event.type, event.step, event.step, 'FAILED'),
        result: { status: 'FAILED', context: { error: event.error, error_info: plain(event.info) } },
        meta: { emitted_by: ENGINE, run: event.run },
        error: event.error,
      };
    case 'command.issued':
      return {
        ...blank(event.type, event.step, event.step, 'PENDING'),
        node_type: event.toolKind,
        command_id: event.commandId,
        context: event.park === undefined ? plain(event.context) : { ...plain(event.context), park: plain(event.park) },
        meta: issuedMeta(event, executionId, catalogId),
      };
    case 'command.claimed':
      return {
        ...blank(event.type, event.step, event.step, 'RUNNING'),
        command_id: event.commandId,
        worker_id: event.workerId,
        result: { status: 'RUNNING', context: { command_id: event.commandId, worker_id: event.workerId } },
        meta: {
          command_id: event.commandId,
          worker_id: event.workerId,
          claim_token: event.token,
          actionable: false,
          informative: true,
        },
      };
    case 'command.started':
      return {
        ...blank(event.type, event.step, event.step, 'STARTED'),
        command_id: event.commandId,
        result: { status: 'STARTED', context: { command_id: event.commandId } },
        meta: { command_id: event.commandId },
      };
    case 'command.requeued':
      return {
        ...blank(event.type, event.step, event.step, 'PENDING'),
        command_id: event.commandId,
        context: event.resume === undefined ? null : { resume: event.resume },
        meta: {
          command_id: event.commandId,
          attempt: event.attempt,
          reason: event.reason,
          delay_ms: event.delayMs,
          reclaimed_from_worker: event.fromWorker,
        },
      };
    case 'call.done':
      return {
        ...blank(event.type, event.step, event.step, 'COMPLETED'),
        command_id: event.commandId,
        result: {
          status: 'COMPLETED',
          context: {
            command_id: event.commandId,
            call_index: 0,
            result: {
              status: event.status,
              context: { status: event.status, data: event.data, ...updatesField(event.updates) },
            },
          },
        },
        meta: { command_id: event.commandId },
      };
    case 'call.error':
    case 'command.failed':
      return {
        ...blank(event.type, event.step, event.step, 'FAILED'),
        command_id: event.commandId,
        result: {
          status: 'FAILED',
          context: { command_id: event.commandId, error: event.error, error_info: plain(event.info) },
        },
        meta: { command_id: event.commandId },
        error: event.error,
      };
    case 'command.completed':
      return {
        ...blank(event.type, event.step, event.step, event.status),
        command_id: event.commandId,
        result: { status: event.status, context: { command_id: event.commandId, status: event.status } },
        meta: { command_id: event.commandId },
      };
    case 'command.handed_over':
      return {
        ...blank('command.completed', event.step, event.step, 'success'),
        command_id: event.commandId,
        result: {
          status: 'success',
          context: { command_id: event.commandId, status: 'success', pending_callback: true },
        },
        meta: { command_id: event.commandId },
      };
    case 'command.cancelled':
      return {
        ...blank(event.type, event.step, event.step, 'CANCELLED'),
        command_id: event.commandId,
        meta: { command_id: event.commandId, reason: event.reason },
      };
    case 'loop.done':
      return {
        ...blank(event.type, event.step, event.step, event.status),
        result: {
          status: event.status,
          context: {
            iterations_expected: event.total,
            succeeded: event.succeeded,
            failed: event.failed,
            loop_id: event.loopId,
          },
        },
        meta: { emitted_by: ENGINE, run: event.run, loop_id: event.loopId },
      };
    case 'signal.received':
      return {
        ...blank(event.type, event.name, event.name, 'RECEIVED'),
        node_type: 'signal',
        context: { payload: event.payload },
        meta: { actionable: false, informative: true },
      };
    case 'signal.delivered':
      return {
        ...blank(event.type, event.name, event.name, 'DELIVERED'),
        node_type: 'signal',
        command_id: event.commandId,
        meta: { emitted_by: ENGINE, command_id: event.commandId },
      };
    case 'execution.forked':
      return {
        ...blank(event.type, 'playbook', 'playbook', 'FORKED'),
        node_type: 'execution',
        context: { workload: event.workload },
        meta: {
          emitted_by: ENGINE,
          source_execution_id: event.source,
          source_event_id: event.sourceEventId,
          mode: event.mode,
        },
      };
    case 'ctx.updated':
      return {
        ...blank(event.type, null, null, 'CONTEXT'),
        result: { status: 'CONTEXT', context: { step: event.step, values: event.values } },
        meta: { emitted_by: ENGINE },
      };
    case 'object.emitted':
      return {
        ...blank(event.eventType, event.step, event.step, event.status),
        node_type: 'business_object',
        meta: { emitted_by: ENGINE, run: event.run, business_object: event.object },
      };
    case 'stage.marked':
      return {
        ...blank(`stage.${event.mark}`, event.step, event.step, event.mark === 'opened' ? 'OPEN' : 'CLOSED'),
        meta: {
          emitted_by: ENGINE,
          run: event.run,
          kind: 'cursor',
          stage_id: event.loopId,
          frame_count: event.frames,
          row_count: event.rows,
          failed_count: event.failed,
        },
      };
    case 'frame.marked':
      return {
        ...blank(`frame.${event.mark}`, event.step, event.step, FRAME_STATUS[event.mark]),
        meta: {
          emitted_by: ENGINE,
          run: event.run,
          stage_id: event.loopId,
          frame_id: frameId(event.loopId, event.frame),
          frame: event.frame,
          row_count: event.rows,
        },
      };
    case 'next.evaluated':
      return {
        ...blank(event.type, event.step, event.step, event.outcome === 'unhandled_failure' ? 'FAILED' : 'EVALUATED'),
        result: {
          status: 'EVALUATED',
          context: {
            run: event.run,
            mode: event.mode,
            taken: [...event.taken],
            dead: [...event.dead],
            tokens: plain(event.tokens),
            ...(event.reset === undefined ? {} : { reset: plain(event.reset) }),
            outcome: event.outcome,
          },
        },
        meta: { emitted_by: ENGINE, run: event.run },
      };
    case 'playbook.ended': {
      const name = { COMPLETED: 'playbook.completed', FAILED: 'playbook.failed', CANCELLED: 'playbook_cancelled' }[
        event.status
      ];
      return {
        ...blank(name, 'playbook', 'playbook', event.status),
        result: { status: event.status, ...(event.error === null ? {} : { context: { error: event.error } }) },
        meta: {
          emitted_by: ENGINE,
          status: event.status,
          reason: event.reason,
          ...(event.error === null ? {} : { error: event.error }),
          ...(event.failedSteps.length === 0 ? {} : { failed_steps: [...event.failedSteps] }),
        },
        error: event.error,
      };
    }
  }
}

const FRAME_STATUS = { dispatched: 'CLAIMED', started: 'RUNNING', committed: 'COMPLETED', failed: 'FAILED' } as const;

function frameId(loopId: string, frame: number): string {
  return `${loopId}:f${frame}`;
}

function issuedMeta(event: CommandIssued, executionId: Id, catalogId: Id): JsonObject {
  return {
    command_id: event.commandId,
    step: event.step,
    tool_kind: event.toolKind,
    max_attempts: event.maxAttempts,
    attempt: event.attempt,
    execution_id: executionId,
    catalog_id: catalogId,
    actionable: event.park === undefined,
    run: event.run,
    pool: event.pool,
    ...(event.idempotent ? {} : { idempotent: false }),
    ...(event.single === true ? { single: true } : {}),
    ...(event.timeoutMs === undefined ? {} : { timeout_ms: event.timeoutMs }),
    ...(event.output === undefined ? {} : { output: event.output }),
    ...(event.cursor === undefined ? {} : { cursor: { step: event.step, ...event.cursor } }),
    ...(event.iteration === undefined
      ? {}
      : {
          iteration_index: event.iteration.index,
          iteration_total: event.iteration.total,
          iterator_step: event.step,
          item_var: event.iteration.iterator,
          loop_id: event.iteration.loopId,
        }),
  };
}

function updatesField(updates: JsonObject): JsonObject {
  return Object.keys(updates).length === 0 ? {} : { context_updates: updates };
}

function blank(type: string, nodeId: string | null, nodeName: string | null, status: string | null): EncodedEvent {
  return {
    event_type: type,
    node_id: nodeId,
    node_name: nodeName,
    node_type: null,
    status,
    command_id: null,
    worker_id: null,
    context: null,
    result: null,
    meta: null,
    error: null,
  };
}

/** Readonly records are JSON too; the type system cannot see it. */
const plain = (value: object): JsonObject => value as unknown as JsonObject;
