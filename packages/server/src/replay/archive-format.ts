// A log as a file: JSON Lines, in UTF-8. First a header with the playbook, then one event a line in the order of the log, then a footer with
// the number of events and the SHA-256 of every byte before it. No time of export and nothing about this installation: the same log
// always gives the same bytes.
import { createHash } from 'node:crypto';
import {
  type EventRow,
  type Id,
  isObject,
  type Json,
  type JsonObject,
  JsonSyntaxError,
  parseId,
  parseJson,
  stringifyJson,
} from '@noetl/core';

export const ARCHIVE_FORMAT = 'noetl.log';
export const ARCHIVE_VERSION = 1;
export const ARCHIVE_TYPE = 'application/x-ndjson';

export interface ArchiveHeader {
  readonly executionId: Id;
  /** Null: the catalog had lost it. */
  readonly playbook: ArchivedPlaybook | null;
}

export interface ArchivedPlaybook {
  readonly catalogId: Id;
  readonly path: string;
  readonly kind: string;
  readonly content: string;
}

export interface ArchiveFooter {
  readonly events: number;
  readonly sha256: string;
}

/** The file is not what it should be. */
export class DamagedArchive extends Error {
  override readonly name = 'DamagedArchive';
}

export function writeHeader({ executionId, playbook }: ArchiveHeader): string {
  return stringifyJson({
    format: ARCHIVE_FORMAT,
    format_version: ARCHIVE_VERSION,
    execution_id: executionId,
    playbook:
      playbook === null
        ? null
        : {
            catalog_id: playbook.catalogId,
            path: playbook.path,
            kind: playbook.kind,
            content: playbook.content,
            sha256: sha256(playbook.content),
          },
  });
}

export function writeFooter({ events, sha256: digest }: ArchiveFooter): string {
  return stringifyJson({ events, sha256: digest });
}

export function readHeader(line: string): ArchiveHeader {
  const header = objectOf(line, 'the first line');
  if (header.format !== ARCHIVE_FORMAT)
    throw new DamagedArchive('it does not begin like an archive of a log: is it one?');
  if (header.format_version !== ARCHIVE_VERSION) {
    throw new DamagedArchive(
      `it has format version ${String(header.format_version)}, and this server reads version ${ARCHIVE_VERSION}`,
    );
  }
  const executionId = parseId(header.execution_id);
  if (executionId === undefined) throw new DamagedArchive('the first line names no execution');
  return { executionId, playbook: playbookOf(header.playbook ?? null) };
}

function playbookOf(value: Json): ArchivedPlaybook | null {
  if (value === null) return null;
  const { catalog_id, path, kind, content, sha256: digest } = isObject(value) ? value : ({} as JsonObject);
  const catalogId = parseId(catalog_id);
  if (catalogId === undefined || typeof path !== 'string' || typeof kind !== 'string' || typeof content !== 'string')
    throw new DamagedArchive('its playbook is incomplete');
  if (sha256(content) !== digest) throw new DamagedArchive('its playbook does not have the checksum it claims');
  return { catalogId, path, kind, content };
}

/** Undefined: this line is no footer. */
export function readFooter(line: string): ArchiveFooter | undefined {
  let footer: JsonObject;
  try {
    footer = objectOf(line, 'the last line');
  } catch {
    return undefined;
  }
  const { events, sha256: digest } = footer;
  return typeof events === 'number' && typeof digest === 'string' ? { events, sha256: digest } : undefined;
}

/** A line as a row of the log. @param version which one it must be */
export function readEventLine(line: string, executionId: Id, version: number): EventRow {
  const event = objectOf(line, `event ${version}`);
  if (event.stream_version !== version) throw new DamagedArchive(`event ${version} is not there, or not in its place`);
  const bad = (field: string) => new DamagedArchive(`event ${version} has no proper '${field}'`);
  if (parseId(event.event_id) === undefined) throw bad('event_id');
  if (parseId(event.catalog_id) === undefined) throw bad('catalog_id');
  if (typeof event.event_type !== 'string') throw bad('event_type');
  if (typeof event.created_at !== 'string' || Number.isNaN(Date.parse(event.created_at))) throw bad('created_at');
  return { ...(event as unknown as EventRow), execution_id: executionId };
}

function objectOf(line: string, what: string): JsonObject {
  try {
    const value = parseJson(line);
    if (isObject(value)) return value;
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
  }
  throw new DamagedArchive(`${what} is not a JSON object`);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
