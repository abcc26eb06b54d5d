// The catalog: versions of playbooks, and their compiled form. An execution pins its catalog id, and content never changes under an
// id, so what is compiled once stays right for as long as it is kept.
import { createHash } from 'node:crypto';
import {
  type CompiledPlaybook,
  checkPlaybook,
  checkSubscription,
  compilePlaybook,
  type Diagnostic,
  formatDiagnostic,
  type Id,
  isObject,
  type Json,
  type JsonObject,
  parseId,
  readYaml,
} from '@noetl/core';
import type pg from 'pg';
import { ApiProblem } from '../errors.js';
import { decodeContent } from './content.js';
import { type CatalogRow, entryById, entryByPath, insertArchived, insertEntry, knownKinds } from './store.js';

export interface Registered {
  readonly catalogId: Id;
  readonly path: string;
  readonly version: number;
  readonly kind: string;
  readonly warnings: readonly Diagnostic[];
}

export interface Catalog {
  register(content: string, resourceType: string): Promise<Registered>;
  /** By id, or by path and version (newest when absent); a 404 problem otherwise. */
  find(reference: {
    catalogId?: Id | undefined;
    path?: string | undefined;
    version?: number | null;
  }): Promise<CatalogRow>;
  compiled(id: Id): Promise<CompiledPlaybook>;
  /** Makes an entry of another installation known under its own id, archived: nobody who names only its path gets it. */
  keep(entry: ForeignEntry): Promise<'kept' | 'same' | 'other'>;
}

export interface ForeignEntry {
  readonly catalogId: Id;
  readonly path: string;
  readonly kind: string;
  readonly content: string;
}

const MAX_COMPILED = 2_000;
/** What the column can hold. */
const MAX_VERSION = 2_147_483_647;

export function createCatalog(options: { pool: pg.Pool; nextId(): Id; now(): Date }): Catalog {
  const { pool } = options;
  const cache = new Map<Id, Promise<CompiledPlaybook>>();

  async function compile(id: Id): Promise<CompiledPlaybook> {
    const row = await entryById(pool, id);
    if (row === undefined) throw new ApiProblem('not_found', `Catalog entry not found: ${id}`);
    const { playbook, diagnostics } = checkPlaybook(row.content);
    if (playbook === undefined) throw invalid(diagnostics, row.path);
    return compilePlaybook(playbook);
  }

  return {
    async register(content, resourceType) {
      const text = decodeContent(content);
      const document = readEntry(text);
      const kind = String(document.kind ?? resourceType).toLowerCase();
      const kinds = await knownKinds(pool);
      if (!kinds.includes(kind)) {
        throw new ApiProblem('invalid', `Unknown kind '${kind}'; this catalog knows ${kinds.join(', ')}`);
      }
      const { path, warnings } = checkedEntry(kind, text, document);
      const entry = await insertEntry(pool, {
        catalogId: options.nextId(),
        path,
        kind,
        content: text,
        contentHash: createHash('sha256').update(text).digest('hex'),
        payload: document,
        meta: metaOf(document, options.now()),
      });
      return { catalogId: entry.catalog_id, path, version: entry.version, kind, warnings };
    },
    async find({ catalogId, path, version = null }) {
      if (catalogId !== undefined) {
        const row = await entryById(pool, catalogId);
        if (row === undefined) throw new ApiProblem('not_found', `Catalog entry not found: ${catalogId}`);
        return row;
      }
      if (path === undefined) throw new ApiProblem('invalid', "Either 'path' or 'catalog_id' must be provided");
      const row = await entryByPath(pool, path, version);
      if (row !== undefined) return row;
      throw new ApiProblem(
        'not_found',
        version === null ? `Playbook not found: ${path}` : `Catalog entry '${path}' version ${version} not found`,
      );
    },
    async keep(entry) {
      if (!(await knownKinds(pool)).includes(entry.kind))
        throw new ApiProblem('invalid', `Unknown kind '${entry.kind}' of the catalog entry ${entry.catalogId}`);
      const contentHash = createHash('sha256').update(entry.content).digest('hex');
      const payload = readYaml(entry.content).value ?? null;
      if (await insertArchived(pool, { ...entry, contentHash, payload, meta: {} })) return 'kept';
      return (await entryById(pool, entry.catalogId))?.content === entry.content ? 'same' : 'other';
    },
    compiled(id) {
      let compiled = cache.get(id);
      if (compiled === undefined) {
        compiled = compile(id);
        cache.set(id, compiled);
        compiled.catch(() => cache.delete(id));
        const [oldest] = cache.keys();
        if (cache.size > MAX_COMPILED && oldest !== undefined) cache.delete(oldest);
      }
      return compiled;
    },
  };
}

/** Just enough of the document to know its kind; rules come with validation. */
function readEntry(text: string): JsonObject {
  const { value, diagnostics } = readYaml(text);
  if (value === undefined) throw invalid(diagnostics, 'playbook');
  if (!isObject(value)) throw invalid(checkPlaybook(text).diagnostics, 'playbook');
  return value;
}

function checkedEntry(kind: string, text: string, document: JsonObject) {
  switch (kind) {
    case 'playbook':
    case 'agent':
      return checkedPlaybook(text);
    case 'subscription':
      return checkedSubscription(text);
    default:
      return plainEntry(document);
  }
}

function checkedPlaybook(text: string): { path: string; warnings: readonly Diagnostic[] } {
  const { playbook, diagnostics } = checkPlaybook(text);
  if (playbook === undefined) throw invalid(diagnostics, 'playbook');
  return { path: playbook.metadata.path, warnings: diagnostics };
}

function checkedSubscription(text: string): { path: string; warnings: readonly Diagnostic[] } {
  const { subscription, diagnostics } = checkSubscription(text);
  if (subscription === undefined) throw invalid(diagnostics, 'subscription');
  return { path: subscription.metadata.path, warnings: diagnostics };
}

function plainEntry(document: JsonObject): { path: string; warnings: readonly Diagnostic[] } {
  const { metadata } = document;
  if (!isObject(metadata)) throw new ApiProblem('invalid', "Missing 'metadata' section");
  const path = metadata.path ?? metadata.name;
  if (typeof path !== 'string' || path === '') throw new ApiProblem('invalid', "Missing 'path' or 'name' in metadata");
  return { path, warnings: [] };
}

function invalid(diagnostics: readonly Diagnostic[], file: string): ApiProblem {
  const errors = diagnostics.filter((diagnostic) => diagnostic.severity === 'error');
  const shown = errors.slice(0, 3).map((diagnostic) => formatDiagnostic(diagnostic, file));
  const more = errors.length > shown.length ? `\n… and ${errors.length - shown.length} more` : '';
  return new ApiProblem('invalid', `${shown.join('\n')}${more}`, { diagnostics: diagnostics as unknown as Json[] });
}

function metaOf(document: JsonObject, now: Date): JsonObject {
  const metadata = isObject(document.metadata) ? document.metadata : {};
  return {
    registered_at: now.toISOString(),
    ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
    ...(metadata.agent === undefined ? {} : { agent: metadata.agent }),
    ...(metadata.capabilities === undefined ? {} : { capabilities: metadata.capabilities }),
  };
}

export function catalogIdOf(value: Json | undefined): Id | undefined {
  if (value === undefined || value === null) return undefined;
  const id = parseId(value);
  if (id === undefined) throw new ApiProblem('invalid', 'Invalid catalog_id');
  return id;
}

/** A number, a numeric string, or `latest`. */
export function versionOf(value: Json | undefined): number | null {
  if (value === undefined || value === null || value === 'latest' || value === '') return null;
  const version = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  if (typeof version !== 'number' || !Number.isInteger(version) || Math.abs(version) > MAX_VERSION)
    throw new ApiProblem('invalid', 'Invalid version number');
  return version;
}
