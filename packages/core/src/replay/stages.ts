// The projection `stage`: a part of the execution that opens, runs frames and closes.
import type { Id } from '../ids/index.js';
import { dictionary, id, int64, optional, record, text } from './codec.js';
import { type Facts, type Int64, integerIn, textIn } from './event.js';

export interface ReplayStage {
  stage_id: string;
  status: string;
  kind: string | undefined;
  step_name: string | undefined;
  parent_stage_id: string | undefined;
  loop_event_id: string | undefined;
  opened_event_id: Id | undefined;
  closed_event_id: Id | undefined;
  frame_count: Int64;
  row_count: Int64;
  events_emitted: Int64;
  failed_count: Int64;
  last_event_id: Id | undefined;
}

export const STAGES = dictionary(
  record<ReplayStage>({
    stage_id: text,
    status: text,
    kind: optional(text),
    step_name: optional(text),
    parent_stage_id: optional(text),
    loop_event_id: optional(text),
    opened_event_id: optional(id),
    closed_event_id: optional(id),
    frame_count: int64,
    row_count: int64,
    events_emitted: int64,
    failed_count: int64,
    last_event_id: optional(id),
  }),
);

/** Any event that carries a stage id takes part, whatever its type. */
export function foldStage(stages: Map<string, ReplayStage>, facts: Facts): void {
  if (facts.stageId === undefined) return;
  let stage = stages.get(facts.stageId);
  if (stage === undefined) {
    stage = newStage(facts.stageId, facts);
    stages.set(facts.stageId, stage);
  }
  stage.last_event_id = facts.id;
  stage.parent_stage_id = textIn(facts.meta, 'parent_stage_id') ?? stage.parent_stage_id;
  stage.loop_event_id = facts.loopId ?? stage.loop_event_id;
  switch (facts.type) {
    case 'stage.opened':
      stage.status = 'OPEN';
      stage.opened_event_id = facts.id;
      break;
    case 'stage.closed':
      stage.status = facts.status || 'CLOSED';
      stage.closed_event_id = facts.id;
      stage.frame_count = integerIn(facts.meta, 'frame_count') ?? stage.frame_count;
      stage.row_count = integerIn(facts.meta, 'row_count') ?? stage.row_count;
      stage.events_emitted = integerIn(facts.meta, 'events_emitted') ?? stage.events_emitted;
      stage.failed_count = integerIn(facts.meta, 'failed_count') ?? stage.failed_count;
      break;
    default:
      stage.status = facts.status || stage.status;
  }
}

function newStage(stageId: string, { nodeName, meta }: Facts): ReplayStage {
  return {
    stage_id: stageId,
    status: 'UNKNOWN',
    kind: textIn(meta, 'kind'),
    step_name: nodeName ?? textIn(meta, 'step_name'),
    parent_stage_id: undefined,
    loop_event_id: undefined,
    opened_event_id: undefined,
    closed_event_id: undefined,
    frame_count: 0,
    row_count: 0,
    events_emitted: 0,
    failed_count: 0,
    last_event_id: undefined,
  };
}
