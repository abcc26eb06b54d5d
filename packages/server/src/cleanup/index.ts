export { type CleanupMetrics, createCleanupMetrics } from './metrics.js';
export { type CleanupPolicy, readPolicy } from './policy.js';
export { type CleanupDeps, purge } from './purge.js';
export { cleanupRoutes } from './routes.js';
