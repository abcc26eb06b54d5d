import type pg from 'pg';
import { Type } from 'typebox';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import type { Metrics } from '../observability/index.js';
import { archiveRoutes } from './archive.js';
import { type Catalog, catalogIdOf, versionOf } from './catalog.js';
import { listEntries } from './store.js';
import { validateRoutes } from './validate.js';

const KIND_ALIASES: Readonly<Record<string, string>> = {
  playbooks: 'playbook',
  agents: 'agent',
  modelcontextprotocol: 'mcp',
  secret: 'credential',
  secrets: 'credential',
  credentials: 'credential',
  subscriptions: 'subscription',
};

export function catalogRoutes(
  app: App,
  { catalog, pool, metrics }: { catalog: Catalog; pool: pg.Pool; metrics: Metrics },
): void {
  archiveRoutes(app, { pool });
  validateRoutes(app);

  app.post(
    '/api/catalog/register',
    {
      bodyLimit: 16 * 1024 * 1024,
      schema: {
        tags: ['catalog'],
        summary: 'Register a playbook (YAML, or base64 of it)',
        body: Type.Object({
          content: Type.String({ minLength: 1 }),
          resource_type: Type.Optional(Type.String({ default: 'Playbook' })),
        }),
      },
    },
    (request) =>
      metrics.timeWrite('catalog_register', async () => {
        const { content, resource_type = 'Playbook' } = request.body;
        const entry = await catalog.register(content, resource_type);
        return {
          status: 'success',
          message: `Resource '${entry.path}' version '${entry.version}' registered.`,
          path: entry.path,
          version: entry.version,
          catalog_id: entry.catalogId,
          kind: entry.kind,
          warnings: entry.warnings,
        };
      }),
  );

  app.post(
    '/api/catalog/list',
    {
      schema: {
        tags: ['catalog'],
        summary: 'List catalog entries, newest first',
        body: Type.Object({
          resource_type: Type.Optional(Type.Union([Type.String(), Type.Null()])),
          path: Type.Optional(Type.Union([Type.String(), Type.Null()])),
          include_archived: Type.Optional(Type.Boolean()),
          latest_only: Type.Optional(Type.Boolean()),
        }),
      },
    },
    async (request) => {
      const { resource_type, path, include_archived = false, latest_only = false } = request.body;
      const kind = resource_type?.toLowerCase();
      const rows = await listEntries(pool, {
        kind: kind === undefined ? null : (KIND_ALIASES[kind] ?? kind),
        path: path ?? null,
        includeArchived: include_archived,
        latestOnly: latest_only,
      });
      return { entries: rows };
    },
  );

  app.post(
    '/api/catalog/resource',
    {
      schema: {
        tags: ['catalog'],
        summary: 'One catalog entry, by id or by path and version',
        body: Type.Object({
          catalog_id: Type.Optional(Type.Any()),
          path: Type.Optional(Type.String()),
          version: Type.Optional(Type.Any()),
        }),
      },
    },
    async (request) => {
      const { catalog_id, path, version } = request.body;
      const id = catalogIdOf(catalog_id);
      if (id === undefined && path === undefined) {
        throw new ApiProblem('invalid', "Either 'catalog_id' or 'path' must be provided");
      }
      return catalog.find({ catalogId: id, path, version: versionOf(version) });
    },
  );
}
