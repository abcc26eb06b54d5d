// Looks at what is on disk, past the API.
import pg from 'pg';
import type { TestDatabase } from '../../support/postgres.js';

export async function sql<T extends pg.QueryResultRow>(
  database: TestDatabase,
  text: string,
  values: unknown[] = [],
): Promise<T[]> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    return (await client.query<T>(text, values)).rows;
  } finally {
    await client.end();
  }
}
