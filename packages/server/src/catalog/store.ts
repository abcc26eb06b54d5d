// SQL of `noetl.catalog`. A version is taken under a lock on its path, so two registrations cannot get the same number.
import type { Id, Json } from '@noetl/core';
import { stringifyJson, toStorableText } from '@noetl/core';
import type pg from 'pg';

export interface CatalogRow {
  readonly catalog_id: Id;
  readonly path: string;
  readonly version: number;
  readonly kind: string;
  readonly content: string;
  readonly layout: Json;
  readonly payload: Json;
  readonly meta: Json;
  readonly created_at: string;
}

export interface NewEntry {
  readonly catalogId: Id;
  readonly path: string;
  readonly kind: string;
  readonly content: string;
  readonly contentHash: string;
  readonly payload: Json;
  readonly meta: Json;
}

const COLUMNS = 'catalog_id, path, version, kind, content, layout, payload, meta, created_at';

const INSERT = `
  WITH latest AS (
    SELECT catalog_id, version, kind, content_hash, archived_at FROM noetl.catalog WHERE path = $2 ORDER BY version DESC LIMIT 1
  ), same AS (
    SELECT catalog_id, version FROM latest WHERE content_hash = $5 AND kind = $3 AND archived_at IS NULL
  ), added AS (
    INSERT INTO noetl.catalog (catalog_id, path, version, kind, content, content_hash, payload, meta)
    SELECT $1, $2, coalesce((SELECT version FROM latest), 0) + 1, $3, $4, $5, $6, $7
    WHERE NOT EXISTS (SELECT 1 FROM same)
    RETURNING catalog_id, version)
  SELECT catalog_id, version, true AS added FROM added UNION ALL SELECT catalog_id, version, false FROM same`;

/** The same content again is the same version. */
export async function insertEntry(
  pool: pg.Pool,
  entry: NewEntry,
): Promise<{ catalog_id: Id; version: number; added: boolean }> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7))', [entry.path]);
    const result = await client.query<{ catalog_id: Id; version: number; added: boolean }>(INSERT, [
      entry.catalogId,
      entry.path,
      entry.kind,
      entry.content,
      entry.contentHash,
      toStorableText(stringifyJson(entry.payload)),
      toStorableText(stringifyJson(entry.meta)),
    ]);
    await client.query('COMMIT');
    const [row] = result.rows;
    if (row === undefined) throw new Error(`catalog entry '${entry.path}' was neither added nor found`);
    return row;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}

/** As the next version of its path, archived. False: the id is taken. */
export async function insertArchived(pool: pg.Pool, entry: NewEntry): Promise<boolean> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7))', [entry.path]);
    const result = await client.query(
      `INSERT INTO noetl.catalog (catalog_id, path, version, kind, content, content_hash, payload, meta, archived_at)
       SELECT $1, $2, coalesce((SELECT max(version) FROM noetl.catalog WHERE path = $2), 0) + 1, $3, $4, $5, $6, $7, now()
       ON CONFLICT (catalog_id) DO NOTHING`,
      [
        entry.catalogId,
        entry.path,
        entry.kind,
        entry.content,
        entry.contentHash,
        toStorableText(stringifyJson(entry.payload)),
        toStorableText(stringifyJson(entry.meta)),
      ],
    );
    await client.query('COMMIT');
    return result.rowCount === 1;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}

export async function knownKinds(pool: pg.Pool): Promise<string[]> {
  return (await pool.query<{ name: string }>('SELECT name FROM noetl.resource ORDER BY name')).rows.map(
    (row) => row.name,
  );
}

export async function listEntries(
  pool: pg.Pool,
  filter: { kind: string | null; path: string | null; includeArchived: boolean; latestOnly: boolean },
): Promise<CatalogRow[]> {
  const result = await pool.query<CatalogRow>(
    `SELECT ${COLUMNS} FROM noetl.catalog c
     WHERE ($1::text IS NULL OR kind = $1) AND ($2::text IS NULL OR path = $2) AND ($3 OR archived_at IS NULL)
       AND (NOT $4 OR version = (SELECT max(version) FROM noetl.catalog l WHERE l.path = c.path AND ($3 OR l.archived_at IS NULL)))
     ORDER BY created_at DESC, catalog_id DESC`,
    [filter.kind, filter.path, filter.includeArchived, filter.latestOnly],
  );
  return result.rows;
}

export async function entryById(pool: pg.Pool, id: Id): Promise<CatalogRow | undefined> {
  const result = await pool.query<CatalogRow>({
    name: 'catalog-by-id',
    text: `SELECT ${COLUMNS} FROM noetl.catalog WHERE catalog_id = $1`,
    values: [id],
  });
  return result.rows[0];
}

/** The newest version unless one is named. Archived entries are found by id only. */
export async function entryByPath(
  pool: pg.Pool,
  path: string,
  version: number | null,
): Promise<CatalogRow | undefined> {
  const result = await pool.query<CatalogRow>({
    name: 'catalog-by-path',
    text: `SELECT ${COLUMNS} FROM noetl.catalog
           WHERE path = $1 AND ($2::int IS NULL OR version = $2) AND archived_at IS NULL ORDER BY version DESC LIMIT 1`,
    values: [path, version],
  });
  return result.rows[0];
}

/** The versions whose state changed, oldest first; every version of the path when none is named. */
export async function setArchived(
  pool: pg.Pool,
  path: string,
  version: number | null,
  archived: boolean,
): Promise<{ catalog_id: Id; version: number }[]> {
  const result = await pool.query<{ catalog_id: Id; version: number }>(
    `WITH changed AS (
       UPDATE noetl.catalog SET archived_at = CASE WHEN $3 THEN now() END
       WHERE path = $1 AND ($2::int IS NULL OR version = $2) AND (archived_at IS NULL) = $3
       RETURNING catalog_id, version)
     SELECT catalog_id, version FROM changed ORDER BY version`,
    [path, version, archived],
  );
  return result.rows;
}
