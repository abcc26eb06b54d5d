// The projection `command`: every order to run a tool, who took it and how it ended. Status words are the producer's own.
import type { Id } from '../ids/index.js';
import { dictionary, id, optional, record, text } from './codec.js';
import { type Facts, textIn } from './event.js';

export interface ReplayCommand {
  command_id: string;
  stage_id: string | undefined;
  frame_id: string | undefined;
  parent_command_id: string | undefined;
  worker_id: string | undefined;
  worker_locator: string | undefined;
  status: string;
  issued_event_id: Id | undefined;
  claimed_event_id: Id | undefined;
  started_event_id: Id | undefined;
  terminal_event_id: Id | undefined;
  last_event_id: Id | undefined;
}

export const COMMANDS = dictionary(
  record<ReplayCommand>({
    command_id: text,
    stage_id: optional(text),
    frame_id: optional(text),
    parent_command_id: optional(text),
    worker_id: optional(text),
    worker_locator: optional(text),
    status: text,
    issued_event_id: optional(id),
    claimed_event_id: optional(id),
    started_event_id: optional(id),
    terminal_event_id: optional(id),
    last_event_id: optional(id),
  }),
);

/** No guard against repeated or late events: the last one wins, so the log alone decides. */
export function foldCommand(commands: Map<string, ReplayCommand>, facts: Facts): void {
  if (facts.commandId === undefined) return;
  let command = commands.get(facts.commandId);
  if (command === undefined) {
    command = newCommand(facts.commandId);
    commands.set(facts.commandId, command);
  }
  command.last_event_id = facts.id;
  command.stage_id = facts.stageId ?? command.stage_id;
  command.frame_id = facts.frameId ?? command.frame_id;
  command.parent_command_id = textIn(facts.meta, 'parent_command_id') ?? command.parent_command_id;
  command.worker_id = facts.workerId ?? command.worker_id;
  command.worker_locator = textIn(facts.meta, 'worker_locator') ?? command.worker_locator;
  switch (facts.type) {
    case 'command.issued':
      command.status = facts.status || 'PENDING';
      command.issued_event_id = facts.id;
      break;
    case 'command.claimed':
      command.status = facts.status || 'CLAIMED';
      command.claimed_event_id = facts.id;
      break;
    case 'command.started':
      command.status = facts.status || 'RUNNING';
      command.started_event_id = facts.id;
      break;
    case 'command.completed':
      command.status = facts.status || 'COMPLETED';
      command.terminal_event_id = facts.id;
      break;
    case 'command.failed':
      command.status = facts.status || 'FAILED';
      command.terminal_event_id = facts.id;
      break;
    case 'command.cancelled':
      command.status = facts.status || 'CANCELLED';
      command.terminal_event_id = facts.id;
      break;
    default:
      // Other events may carry the id (a frame's, a call's); their status is not the command's.
      if (facts.type.startsWith('command.')) command.status = facts.status || command.status;
  }
}

function newCommand(commandId: string): ReplayCommand {
  return {
    command_id: commandId,
    stage_id: undefined,
    frame_id: undefined,
    parent_command_id: undefined,
    worker_id: undefined,
    worker_locator: undefined,
    status: 'UNKNOWN',
    issued_event_id: undefined,
    claimed_event_id: undefined,
    started_event_id: undefined,
    terminal_event_id: undefined,
    last_event_id: undefined,
  };
}
