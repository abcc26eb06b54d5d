// The projection `frame`: a batch of rows that one command works on, with what came out of it.
import type { Id } from '../ids/index.js';
import { dictionary, id, int64, json, optional, record, text } from './codec.js';
import { type Facts, type Int64, integerIn, textIn } from './event.js';
import type { ExactJson } from './exact-json.js';
import { PAYLOAD_SUMMARY, type PayloadSummary, summarise } from './payload.js';

export interface ReplayFrame {
  frame_id: string;
  stage_id: string | undefined;
  parent_frame_id: string | undefined;
  command_id: string | undefined;
  claimed_event_id: Id | undefined;
  terminal_event_id: Id | undefined;
  status: string;
  row_count: Int64;
  attempts: Int64;
  last_event_id: Id | undefined;
  events_emitted: Int64;
  output_ref: ExactJson | undefined;
  output_ref_summary: PayloadSummary | undefined;
}

export const FRAMES = dictionary(
  record<ReplayFrame>({
    frame_id: text,
    stage_id: optional(text),
    parent_frame_id: optional(text),
    command_id: optional(text),
    claimed_event_id: optional(id),
    terminal_event_id: optional(id),
    status: text,
    row_count: int64,
    attempts: int64,
    last_event_id: optional(id),
    events_emitted: int64,
    output_ref: optional(json),
    output_ref_summary: optional(PAYLOAD_SUMMARY),
  }),
);

export function foldFrame(frames: Map<string, ReplayFrame>, facts: Facts): void {
  if (facts.frameId === undefined) return;
  let frame = frames.get(facts.frameId);
  if (frame === undefined) {
    frame = newFrame(facts.frameId);
    frames.set(facts.frameId, frame);
  }
  frame.last_event_id = facts.id;
  frame.stage_id = facts.stageId ?? frame.stage_id;
  frame.parent_frame_id = textIn(facts.meta, 'parent_frame_id') ?? frame.parent_frame_id;
  frame.command_id = facts.commandId ?? frame.command_id;
  switch (facts.type) {
    case 'frame.dispatched': {
      const attempt = integerIn(facts.meta, 'attempt') ?? 1;
      frame.status = 'CLAIMED';
      frame.claimed_event_id = facts.id;
      if (attempt > frame.attempts) frame.attempts = attempt;
      break;
    }
    case 'frame.started':
      frame.status = 'RUNNING';
      break;
    case 'frame.abandoned':
      frame.status = facts.status || 'ABANDONED';
      break;
    case 'frame.committed':
      end(frame, facts, 'COMPLETED');
      frame.row_count = integerIn(facts.meta, 'row_count') ?? frame.row_count;
      break;
    case 'frame.failed':
      end(frame, facts, 'FAILED');
      break;
    default:
      frame.status = facts.status || frame.status;
  }
}

/** The output is that of the last end: an end without a reference takes an earlier one away. */
function end(frame: ReplayFrame, facts: Facts, status: 'COMPLETED' | 'FAILED'): void {
  frame.status = facts.status || status;
  frame.events_emitted = integerIn(facts.meta, 'events_emitted') ?? frame.events_emitted;
  frame.terminal_event_id = facts.id;
  frame.output_ref = facts.reference;
  frame.output_ref_summary = summarise(facts.reference);
}

function newFrame(frameId: string): ReplayFrame {
  return {
    frame_id: frameId,
    stage_id: undefined,
    parent_frame_id: undefined,
    command_id: undefined,
    claimed_event_id: undefined,
    terminal_event_id: undefined,
    status: 'UNKNOWN',
    row_count: 0,
    attempts: 0,
    last_event_id: undefined,
    events_emitted: 0,
    output_ref: undefined,
    output_ref_summary: undefined,
  };
}
