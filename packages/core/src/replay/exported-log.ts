// A log in a file: `{"events": […], "execution_id": …, "projection"?, "tail"?, "seed"?, "digest"?}`. With a tail, the events make a base state
// and the tail is folded on top of it, the way a stored state is used.
import { id, ReplayFormatError, refuse, text } from './codec.js';
import type { ReplayEvent } from './event.js';
import { type ExactJson, type ExactObject, isExactObject, parseExactJson } from './exact-json.js';
import { foldReplayLog, resumeReplay, startReplay, takeReplayState } from './fold.js';
import {
  CHECKSUM,
  type Checksum,
  type ReplaySnapshot,
  type ReplayState,
  type ReplaySubject,
  requestedProjection,
} from './state.js';

export interface ExportedLog {
  readonly subject: ReplaySubject;
  readonly events: readonly ReplayEvent[];
  readonly tail: readonly ReplayEvent[] | undefined;
  readonly seed: ExportedSeed | undefined;
  readonly digest: string | undefined;
}

/** Where the base state was stored. Without a checksum, it is that of the base. */
export type ExportedSeed = Omit<ReplaySnapshot, 'checksum'> & { readonly checksum: Checksum | undefined };

export function foldExportedLog({ subject, events, tail, seed, digest }: ExportedLog): ReplayState {
  if (tail === undefined && seed === undefined) {
    return takeReplayState(foldReplayLog(startReplay({ upcaster_registry_digest: digest }), events), subject);
  }
  const base = takeReplayState(foldReplayLog(startReplay(), events), subject);
  const snapshot = seed && { ...seed, checksum: seed.checksum ?? base.checksum };
  return takeReplayState(
    foldReplayLog(resumeReplay(base, { snapshot, upcaster_registry_digest: digest }), tail ?? []),
    subject,
  );
}

/** @throws ReplayFormatError or SyntaxError, with what is wrong and where. */
export function readExportedLog(line: string): ExportedLog {
  const log = parseExactJson(line);
  if (!isExactObject(log)) throw new ReplayFormatError('an exported log must be an object');
  return {
    subject: {
      tenant_id: optionalText(log, 'tenant_id', '') ?? 'default',
      organization_id: optionalText(log, 'organization_id', '') ?? 'default',
      execution_id: id.read(log['execution_id'] ?? null, 'execution_id'),
      projection: requestedProjection.read(log['projection'] ?? 'all', 'projection'),
    },
    events: readEvents(log['events'] ?? null, 'events'),
    tail: isAbsent(log['tail']) ? undefined : readEvents(log['tail'], 'tail'),
    seed: isAbsent(log['seed']) ? undefined : readSeed(log['seed']),
    digest: optionalText(log, 'digest', ''),
  };
}

function readSeed(seed: ExactJson): ExportedSeed {
  if (!isExactObject(seed)) refuse('seed', 'an object');
  return {
    aggregate_id: text.read(seed['aggregate_id'] ?? null, 'seed.aggregate_id'),
    aggregate_type: text.read(seed['aggregate_type'] ?? null, 'seed.aggregate_type'),
    version: id.read(seed['version'] ?? null, 'seed.version'),
    checksum: isAbsent(seed['checksum']) ? undefined : CHECKSUM.read(seed['checksum'], 'seed.checksum'),
    meta: seed['meta'] ?? null,
  };
}

function readEvents(events: ExactJson, name: string): ReplayEvent[] {
  if (!Array.isArray(events)) refuse(name, 'a list of events');
  return events.map((event: ExactJson, index) => readEvent(event, `${name}[${index}]`));
}

function readEvent(event: ExactJson, where: string): ReplayEvent {
  if (!isExactObject(event)) refuse(where, 'an object');
  return {
    event_id: id.read(event['event_id'] ?? null, `${where}.event_id`),
    event_type: optionalText(event, 'event_type', where) ?? '',
    node_name: optionalText(event, 'node_name', where),
    status: optionalText(event, 'status', where),
    stage_id: optionalKey(event, 'stage_id', where),
    frame_id: optionalKey(event, 'frame_id', where),
    command_id: optionalKey(event, 'command_id', where),
    worker_id: optionalText(event, 'worker_id', where),
    aggregate_type: optionalText(event, 'aggregate_type', where),
    aggregate_id: optionalText(event, 'aggregate_id', where),
    meta: event['meta'] ?? null,
    result: event['result'] ?? null,
  };
}

function optionalText(object: ExactObject, name: string, where: string): string | undefined {
  const value = object[name];
  if (typeof value === 'string') return value;
  return isAbsent(value) ? undefined : refuse(where === '' ? name : `${where}.${name}`, 'text');
}

/** Some logs number their stages, frames and commands, others name them. */
function optionalKey(event: ExactObject, name: string, where: string): string | undefined {
  const value = event[name];
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return String(value);
  if (typeof value === 'string') return value;
  return isAbsent(value) ? undefined : refuse(`${where}.${name}`, 'text or an integer');
}

function isAbsent(value: ExactJson | undefined): value is null | undefined {
  return value === undefined || value === null;
}
