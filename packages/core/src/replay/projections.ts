// The six projections of a log, and the names by which requests and checksums call them.
import type { ReplayBusinessObject } from './business-objects.js';
import type { ReplayCommand } from './commands.js';
import type { ReplayExecution } from './execution.js';
import type { ReplayFrame } from './frames.js';
import type { ReplayLoop } from './loops.js';
import type { ReplayStage } from './stages.js';

/** One record, and five maps by the id of the thing. */
export interface ReplayProjections {
  readonly execution: Readonly<ReplayExecution>;
  readonly stages: ReadonlyMap<string, Readonly<ReplayStage>>;
  readonly frames: ReadonlyMap<string, Readonly<ReplayFrame>>;
  readonly commands: ReadonlyMap<string, Readonly<ReplayCommand>>;
  readonly business_objects: ReadonlyMap<string, Readonly<ReplayBusinessObject>>;
  readonly loops: ReadonlyMap<string, Readonly<ReplayLoop>>;
}

export type ProjectionName = 'execution' | 'stage' | 'frame' | 'command' | 'business_object' | 'loop';

/** What a request may name. All six are folded in any case; the name is part of the answer and of its checksum. */
export type RequestedProjection = ProjectionName | 'all';

export const REQUESTED_PROJECTIONS: readonly RequestedProjection[] = [
  'execution',
  'stage',
  'frame',
  'command',
  'business_object',
  'loop',
  'all',
];

export function isRequestedProjection(name: string): name is RequestedProjection {
  return (REQUESTED_PROJECTIONS as readonly string[]).includes(name);
}
