// A command as the queue holds it: everything a worker needs except the claim.
import type { LeasedCommand } from '@noetl/client';
import { type Id, isObject, type Json, type JsonObject } from '@noetl/core';
import type { Offer } from '../log/index.js';

export interface ReadyCommand {
  readonly commandId: string;
  readonly executionId: Id;
  readonly eventId: Id;
  readonly step: string;
  readonly toolKind: string;
  readonly pool: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Of its last lease; 0 when it had none. */
  readonly token: number;
  readonly context: Json;
  readonly meta: Json;
  /** Where a list of tools goes on. */
  readonly resume?: Json;
}

export function readyFromOffer({ insert, row }: Offer): ReadyCommand {
  return {
    commandId: insert.command_id,
    executionId: insert.execution_id,
    eventId: insert.event_id,
    step: insert.step_name,
    toolKind: insert.tool_kind,
    pool: insert.pool,
    attempt: insert.attempt,
    maxAttempts: insert.max_attempts,
    token: insert.claim_token,
    context: row.context,
    meta: row.meta,
  };
}

export function leasedCommand(command: ReadyCommand, token: number, leaseMs: number): LeasedCommand {
  const context = isObject(command.context) ? command.context : {};
  return {
    execution_id: command.executionId,
    event_id: command.eventId,
    command_id: command.commandId,
    step: command.step,
    tool_kind: command.toolKind,
    attempt: command.attempt,
    max_attempts: command.maxAttempts,
    claim_token: token,
    lease_ms: leaseMs,
    context: {
      tool_config: context.tool_config ?? {},
      args: objectOf(context.args),
      render_context: objectOf(context.render_context),
    },
    meta: objectOf(command.meta),
    ...(command.resume === undefined ? {} : { resume: command.resume }),
  };
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}
