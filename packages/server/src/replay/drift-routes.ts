// `GET /api/replay/drift`: one execution, or a page of all of them.
import { type Id, parseId } from '@noetl/core';
import { Type } from 'typebox';
import type { Pools } from '../db/index.js';
import { ApiProblem } from '../errors.js';
import type { App } from '../http/index.js';
import { checkDrift, type DriftReport } from './drift.js';
import { executionsAfter } from './drift-store.js';
import type { ReplayMetrics } from './metrics.js';

export function driftRoutes(app: App, deps: { readonly pools: Pools; readonly metrics: ReplayMetrics }): void {
  const { pools, metrics } = deps;
  const check = async (id: Id): Promise<DriftReport> => {
    const report = await checkDrift(pools, id);
    metrics.drift(report.outcome);
    return report;
  };
  app.get(
    '/api/replay/drift',
    {
      schema: {
        tags: ['replay'],
        summary: 'Compare the replayed state of an execution with its live rows and stored states',
        querystring: Type.Object({
          execution_id: Type.Optional(Type.String({ description: 'Absent: a page of all executions' })),
          after: Type.Optional(Type.String({ description: 'Executions after this id' })),
          limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
        }),
      },
    },
    async ({ query }) => {
      if (query.execution_id !== undefined) return check(mustId(query.execution_id, 'execution_id'));
      const limit = query.limit ?? 100;
      const ids = await executionsAfter(pools, mustId(query.after ?? '0', 'after'), limit);
      const count = { matched: 0, differs: 0, empty: 0 };
      const drifted: DriftReport[] = [];
      for (const id of ids) {
        const report = await check(id);
        count[report.outcome]++;
        if (report.outcome === 'differs') drifted.push(report);
      }
      return { checked: ids.length, ...count, drifted, next: ids.length === limit ? ids.at(-1) : null };
    },
  );
}

function mustId(text: string, name: string): Id {
  const id = parseId(text);
  if (id === undefined) throw new ApiProblem('malformed', `query '${name}' must be an integer`);
  return id;
}
