export type { Drift } from './drift.js';
export { createProjectionMetrics, type ProjectionMetrics } from './metrics.js';
export { type RebuildOptions, type RebuildReport, rebuild } from './rebuild.js';
export { projectionRoutes } from './routes.js';
export { type ExecutionSummary, foldSummary, startSummary } from './summary.js';
