// The state that a fold gives: what it is of, the six projections, and checksums by which two states are compared without reading them.
// `replayBody` is the text of the API, byte for byte the same for the same log; `readReplayState` reads such a text back.
import type { Id } from '../ids/index.js';
import { BUSINESS_OBJECTS } from './business-objects.js';
import { type Codec, count, id, json, optional, ReplayFormatError, record, text } from './codec.js';
import { COMMANDS } from './commands.js';
import { type ExactJson, parseExactJson } from './exact-json.js';
import { EXECUTION } from './execution.js';
import { FRAMES } from './frames.js';
import { LOOPS } from './loops.js';
import {
  isRequestedProjection,
  type ProjectionName,
  REQUESTED_PROJECTIONS,
  type ReplayProjections,
  type RequestedProjection,
} from './projections.js';
import { sha256Hex } from './sha256.js';
import { STAGES } from './stages.js';

/** The number of the rules of the fold. A stored state of another number is not a base to go on from. */
export const REPLAY_FOLD_VERSION = 1;

export interface Checksum {
  readonly type: string;
  readonly value: string;
}

/** The stored state that a fold started from. */
export interface ReplaySnapshot {
  readonly aggregate_id: string;
  readonly aggregate_type: string;
  /** The last event in the stored state. */
  readonly version: Id;
  readonly checksum: Checksum;
  readonly meta: ExactJson;
}

/** What a state is of. Part of the body and of `checksum`, not of the projections. */
export interface ReplaySubject {
  readonly tenant_id: string;
  readonly organization_id: string;
  readonly execution_id: Id;
  readonly projection: RequestedProjection;
}

/** What is folded, and where the fold has come to. */
export interface ReplayContent extends ReplayProjections {
  readonly event_count: number;
  readonly last_event_id: Id | undefined;
  readonly last_event_type: string | undefined;
  /** Which rules brought old events to today's form before they were folded. */
  readonly upcaster_registry_digest: string | undefined;
  readonly replay_snapshot: ReplaySnapshot | undefined;
}

export interface ReplayChecksums {
  /** Of the whole state, subject and projection checksums included. */
  readonly checksum: Checksum;
  /** To compare states, compare these: they depend on the log alone. */
  readonly projection_checksums: Readonly<Record<ProjectionName, Checksum>>;
}

export interface ReplayState extends ReplaySubject, ReplayContent, ReplayChecksums {}

export const CHECKSUM = record<Checksum>({ type: text, value: text });

const PROJECTION_CHECKSUMS = record<ReplayChecksums['projection_checksums']>({
  business_object: CHECKSUM,
  command: CHECKSUM,
  execution: CHECKSUM,
  frame: CHECKSUM,
  loop: CHECKSUM,
  stage: CHECKSUM,
});

const SNAPSHOT = record<ReplaySnapshot>({
  aggregate_id: text,
  aggregate_type: text,
  version: id,
  checksum: CHECKSUM,
  meta: json,
});

export const requestedProjection: Codec<RequestedProjection> = {
  write: text.write,
  read(value, where) {
    const name = text.read(value, where);
    if (isRequestedProjection(name)) return name;
    throw new ReplayFormatError(
      `${where}: unknown projection ${JSON.stringify(name)}; expected one of: ${REQUESTED_PROJECTIONS.join(', ')}`,
    );
  },
};

const SUBJECT_FIELDS = {
  tenant_id: text,
  organization_id: text,
  execution_id: id,
  projection: requestedProjection,
};
const POSITION_FIELDS = { event_count: count, last_event_id: optional(id), last_event_type: optional(text) };
const ORIGIN_FIELDS = { upcaster_registry_digest: optional(text), replay_snapshot: optional(SNAPSHOT) };

const STATE = record<ReplayState>({
  ...SUBJECT_FIELDS,
  ...POSITION_FIELDS,
  execution: EXECUTION,
  stages: STAGES,
  frames: FRAMES,
  commands: COMMANDS,
  business_objects: BUSINESS_OBJECTS,
  loops: LOOPS,
  ...ORIGIN_FIELDS,
  checksum: CHECKSUM,
  projection_checksums: PROJECTION_CHECKSUMS,
});

/** What `checksum` covers, with the projections already written: each is hashed twice, alone and as a part of this. */
type Whole = Omit<ReplayState, keyof ReplayProjections | 'checksum'> & Record<keyof ReplayProjections, string>;

const written: Codec<string> = { write: (value) => value, read: text.read };

const WHOLE = record<Whole>({
  ...SUBJECT_FIELDS,
  ...POSITION_FIELDS,
  execution: written,
  stages: written,
  frames: written,
  commands: written,
  business_objects: written,
  loops: written,
  ...ORIGIN_FIELDS,
  projection_checksums: PROJECTION_CHECKSUMS,
});

export function replayBody(state: ReplayState): string {
  return STATE.write(state, 'body');
}

/** @throws ReplayFormatError when the text is not a state; SyntaxError when it is not JSON. */
export function readReplayState(body: string): ReplayState {
  return STATE.read(parseExactJson(body), 'state');
}

export function withChecksums(state: ReplaySubject & ReplayContent): ReplayState {
  return { ...state, ...checksumsOf(state) };
}

/** False when the state was changed after its checksums were computed, or when its numbers were spelled anew (as jsonb does). */
export function isIntact(state: ReplayState): boolean {
  const { checksum, projection_checksums } = checksumsOf(state);
  return (
    CHECKSUM.write(checksum, 'body') === CHECKSUM.write(state.checksum, 'body') &&
    PROJECTION_CHECKSUMS.write(projection_checksums, 'body') ===
      PROJECTION_CHECKSUMS.write(state.projection_checksums, 'body')
  );
}

function checksumsOf(state: ReplaySubject & ReplayContent): ReplayChecksums {
  const projections = {
    execution: EXECUTION.write(state.execution, 'canonical'),
    stages: STAGES.write(state.stages, 'canonical'),
    frames: FRAMES.write(state.frames, 'canonical'),
    commands: COMMANDS.write(state.commands, 'canonical'),
    business_objects: BUSINESS_OBJECTS.write(state.business_objects, 'canonical'),
    loops: LOOPS.write(state.loops, 'canonical'),
  };
  const projection_checksums = {
    business_object: sha256(projections.business_objects),
    command: sha256(projections.commands),
    execution: sha256(projections.execution),
    frame: sha256(projections.frames),
    loop: sha256(projections.loops),
    stage: sha256(projections.stages),
  };
  return {
    checksum: sha256(WHOLE.write({ ...state, ...projections, projection_checksums }, 'canonical')),
    projection_checksums,
  };
}

function sha256(canonical: string): Checksum {
  return { type: 'sha256', value: sha256Hex(canonical) };
}
