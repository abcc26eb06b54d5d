// Deleting from the catalog hides: an archived version no longer resolves by path and is not listed, but executions pin their
// catalog id, so what runs or ran goes on and can be replayed. Restoring brings it back under the same version.
import type { Json } from '@noetl/core';
import type pg from 'pg';
import { Type } from 'typebox';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import { versionOf } from './catalog.js';
import { setArchived } from './store.js';

const body = Type.Object({ path: Type.String(), version: Type.Optional(Type.Any()) });

export function archiveRoutes(app: App, { pool }: { pool: pg.Pool }): void {
  app.post(
    '/api/catalog/delete',
    { schema: { tags: ['catalog'], summary: 'Archive one version of a path, or all of them', body } },
    async (request) => {
      const { path, version } = selection(request.body);
      const deleted = await setArchived(pool, path, version, true);
      return { ...summary(path, deleted.length, 'archived'), deleted, count: deleted.length };
    },
  );

  app.post(
    '/api/catalog/restore',
    { schema: { tags: ['catalog'], summary: 'Bring back archived versions of a path', body } },
    async (request) => {
      const { path, version } = selection(request.body);
      const restored = await setArchived(pool, path, version, false);
      return { ...summary(path, restored.length, 'restored'), restored, count: restored.length };
    },
  );
}

/** Only an absent version means all of them: `latest` or an empty text must not delete more than their author meant. */
function selection(body: { path: string; version?: Json }): { path: string; version: number | null } {
  if (body.path.trim() === '') throw new ApiProblem('invalid', "'path' must not be blank");
  const version = versionOf(body.version);
  if (version === null && body.version !== undefined && body.version !== null) {
    throw new ApiProblem('invalid', 'Invalid version number');
  }
  return { path: body.path, version };
}

function summary(path: string, count: number, verb: string) {
  const versions = count === 1 ? '1 version' : `${count} versions`;
  return { status: 'success', message: `${versions} of '${path}' ${verb}.`, path };
}
