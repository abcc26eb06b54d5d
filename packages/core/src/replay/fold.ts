// The fold: events in, one after the other, at a cost that does not depend on how many came before; a state out, whenever one is asked for.
// What must stay true: the state is a function of the events and nothing else (no clock, no order but the given one), and going on from
// a state that was taken, or stored and read back, gives what folding everything at once gives.
import { compareIds, type Id } from '../ids/index.js';
import { copyBusinessObject, foldBusinessObject, type ReplayBusinessObject } from './business-objects.js';
import { foldCommand, type ReplayCommand } from './commands.js';
import { factsOf, type ReplayEvent } from './event.js';
import { foldExecution, initialExecution, type ReplayExecution } from './execution.js';
import { foldFrame, type ReplayFrame } from './frames.js';
import { foldLoop, type ReplayLoop } from './loops.js';
import { payloadOf } from './payload.js';
import { foldStage, type ReplayStage } from './stages.js';
import {
  type ReplayContent,
  type ReplaySnapshot,
  type ReplayState,
  type ReplaySubject,
  withChecksums,
} from './state.js';

/** A fold on its way. It changes with every event; what `takeReplayState` gives does not. */
export interface ReplayFold extends ReplayContent {
  event_count: number;
  last_event_id: Id | undefined;
  last_event_type: string | undefined;
  readonly execution: ReplayExecution;
  readonly stages: Map<string, ReplayStage>;
  readonly frames: Map<string, ReplayFrame>;
  readonly commands: Map<string, ReplayCommand>;
  readonly business_objects: Map<string, ReplayBusinessObject>;
  readonly loops: Map<string, ReplayLoop>;
}

export interface ReplayOrigin {
  /** Where the base was stored. Without it, the base's own origin stays. */
  readonly snapshot?: ReplaySnapshot | undefined;
  readonly upcaster_registry_digest?: string | undefined;
}

export function startReplay(origin: ReplayOrigin = {}): ReplayFold {
  return {
    event_count: 0,
    last_event_id: undefined,
    last_event_type: undefined,
    execution: initialExecution(),
    stages: new Map(),
    frames: new Map(),
    commands: new Map(),
    business_objects: new Map(),
    loops: new Map(),
    upcaster_registry_digest: origin.upcaster_registry_digest,
    replay_snapshot: origin.snapshot,
  };
}

/** Goes on where `base` ends; `base` itself stays as it is. */
export function resumeReplay(base: ReplayContent, origin: ReplayOrigin = {}): ReplayFold {
  return {
    ...copyOf(base),
    upcaster_registry_digest: origin.upcaster_registry_digest ?? base.upcaster_registry_digest,
    replay_snapshot: origin.snapshot ?? base.replay_snapshot,
  };
}

/** Folds one event. Events are taken in the order they come: `inReplayOrder` sorts what is not sorted. */
export function foldReplayEvent(fold: ReplayFold, event: ReplayEvent): void {
  const facts = factsOf(event);
  const payload = payloadOf(facts);
  fold.event_count++;
  fold.last_event_id = facts.id;
  fold.last_event_type = facts.type;
  foldExecution(fold.execution, facts, payload);
  foldStage(fold.stages, facts);
  foldFrame(fold.frames, facts);
  foldCommand(fold.commands, facts);
  foldLoop(fold.loops, facts);
  foldBusinessObject(fold.business_objects, facts, payload);
}

/** The state after the events so far. The fold can go on afterwards. */
export function takeReplayState(fold: ReplayFold, subject: ReplaySubject): ReplayState {
  const { tenant_id, organization_id, execution_id, projection } = subject;
  return withChecksums({ tenant_id, organization_id, execution_id, projection, ...copyOf(fold) });
}

/** By event id; events with the same id keep their order, and all of them count. */
export function inReplayOrder<E extends ReplayEvent>(events: readonly E[]): readonly E[] {
  const isSorted = events.every((event, index) => {
    const before = events[index - 1];
    return before === undefined || compareIds(before.event_id, event.event_id) <= 0;
  });
  return isSorted ? events : events.toSorted((a, b) => compareIds(a.event_id, b.event_id));
}

/** Sorts and folds a whole log. */
export function foldReplayLog(fold: ReplayFold, events: readonly ReplayEvent[]): ReplayFold {
  for (const event of inReplayOrder(events)) foldReplayEvent(fold, event);
  return fold;
}

function copyOf(content: ReplayContent): ReplayFold {
  const { event_count, last_event_id, last_event_type, upcaster_registry_digest, replay_snapshot } = content;
  return {
    event_count,
    last_event_id,
    last_event_type,
    execution: { ...content.execution, payload_refs: [...content.execution.payload_refs] },
    stages: copyMap(content.stages, (stage) => ({ ...stage })),
    frames: copyMap(content.frames, (frame) => ({ ...frame })),
    commands: copyMap(content.commands, (command) => ({ ...command })),
    business_objects: copyMap(content.business_objects, copyBusinessObject),
    loops: copyMap(content.loops, (loop) => ({ ...loop })),
    upcaster_registry_digest,
    replay_snapshot,
  };
}

function copyMap<T>(map: ReadonlyMap<string, Readonly<T>>, copy: (value: Readonly<T>) => T): Map<string, T> {
  const result = new Map<string, T>();
  for (const [key, value] of map) result.set(key, copy(value));
  return result;
}
