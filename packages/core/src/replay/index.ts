export type { ReplayBusinessObject } from './business-objects.js';
export { canonicalText } from './canonical.js';
export { ReplayFormatError } from './codec.js';
export type { ReplayCommand } from './commands.js';
export type { Int64, ReplayEvent } from './event.js';
export { ExactFloat, type ExactJson, type ExactObject, isExactObject, parseExactJson } from './exact-json.js';
export type { ReplayExecution } from './execution.js';
export { type ExportedLog, type ExportedSeed, foldExportedLog, readExportedLog } from './exported-log.js';
export {
  foldReplayEvent,
  foldReplayLog,
  inReplayOrder,
  type ReplayFold,
  type ReplayOrigin,
  resumeReplay,
  startReplay,
  takeReplayState,
} from './fold.js';
export type { ReplayFrame } from './frames.js';
export type { ReplayLoop } from './loops.js';
export type { PayloadReference, PayloadSummary } from './payload.js';
export {
  isRequestedProjection,
  type ProjectionName,
  REQUESTED_PROJECTIONS,
  type ReplayProjections,
  type RequestedProjection,
} from './projections.js';
export {
  locatorOf,
  type PayloadResolution,
  type PayloadResolutionRow,
  type PayloadType,
  type PlacedReference,
  payloadReferencesOf,
  resolutionRow,
  resolutionSummary,
  resolvedPayload,
  storeRequestOf,
  unresolvedPayload,
} from './resolution.js';
export { sha256Hex } from './sha256.js';
export {
  REPLAY_AGGREGATE_TYPE,
  type RestoredReplayState,
  replayAggregateId,
  restoreReplayState,
  type StoredReplayProblem,
  type StoredReplayState,
  storeReplayState,
} from './snapshot.js';
export type { ReplayStage } from './stages.js';
export {
  type Checksum,
  isIntact,
  REPLAY_FOLD_VERSION,
  type ReplayChecksums,
  type ReplayContent,
  type ReplaySnapshot,
  type ReplayState,
  type ReplaySubject,
  readReplayState,
  replayBody,
} from './state.js';
