// Logs out of this installation and into it, as files.
import { Readable } from 'node:stream';
import { Type } from 'typebox';
import type { Catalog } from '../catalog/index.js';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import { ARCHIVE_TYPE, type ArchivedPlaybook } from './archive-format.js';
import { archiveLines, logHead } from './export.js';
import { importLog } from './import.js';
import { executionIdOf, type StateQuery } from './request.js';

export function archiveRoutes(app: App, deps: { readonly pools: Pools; readonly catalog: Catalog }): void {
  const { pools, catalog } = deps;

  app.get(
    '/api/replay/export',
    {
      schema: {
        tags: ['replay'],
        summary: 'The log of an execution as JSON Lines: header with the playbook, events, footer with a checksum',
        querystring: Type.Object({ execution_id: Type.Optional(Type.String()) }),
      },
    },
    async (request, reply) => {
      const executionId = executionIdOf(request.query as StateQuery);
      const { pool } = pools.forExecution(executionId);
      const head = await logHead(pool, executionId);
      if (head === undefined) throw new ApiProblem('not_found', `Execution not found: ${executionId}`);
      const playbook = await playbookOf(catalog, head.catalogId);
      return reply
        .type(ARCHIVE_TYPE)
        .header('content-disposition', `attachment; filename="execution-${executionId}.jsonl"`)
        .send(Readable.from(archiveLines(pool, { executionId, playbook }, head.version)));
    },
  );

  // In a scope of its own: no other route takes a stream.
  void app.register(async (scope) => {
    scope.addContentTypeParser(ARCHIVE_TYPE, (_request, payload, done) => done(null, payload));
    scope.post(
      '/api/replay/import',
      {
        schema: {
          tags: ['replay'],
          summary: 'Store an archive as history; nobody works for it. The same log again changes nothing',
        },
      },
      async (request) => {
        if (!(request.body instanceof Readable))
          throw new ApiProblem('unsupported_media_type', `Send the archive with 'Content-Type: ${ARCHIVE_TYPE}'`);
        return importLog(deps, request.body as AsyncIterable<Buffer>);
      },
    );
  });
}

/** An execution whose playbook is gone is exported without it. */
async function playbookOf(
  catalog: Catalog,
  catalogId: Parameters<Catalog['compiled']>[0],
): Promise<ArchivedPlaybook | null> {
  try {
    const { path, kind, content } = await catalog.find({ catalogId });
    return { catalogId, path, kind, content };
  } catch (error) {
    if (error instanceof ApiProblem && error.code === 'not_found') return null;
    throw error;
  }
}
