// Replay: what a log says about its execution, as of any event.
import type { Logger } from 'pino';
import type { Catalog } from '../catalog/index.js';
import type { Pools } from '../db/index.js';
import type { App } from '../http/index.js';
import { archiveRoutes } from './archive-routes.js';
import { driftRoutes } from './drift-routes.js';
import type { ReplayMetrics } from './metrics.js';
import { createSnapshots } from './snapshots.js';
import { stateRoutes } from './state-routes.js';
import { createTravel } from './travel.js';
import { travelRoutes } from './travel-routes.js';

export { createReplayMetrics, type ReplayMetrics } from './metrics.js';

export interface ReplayDeps {
  readonly pools: Pools;
  readonly catalog: Catalog;
  readonly metrics: ReplayMetrics;
  readonly logger: Logger;
}

/** Resolves `idle` when nothing is being written in the background. */
export function replayRoutes(app: App, deps: ReplayDeps): { idle(): Promise<void> } {
  const snapshots = createSnapshots(deps);
  stateRoutes(app, { ...deps, snapshots });
  travelRoutes(app, createTravel(deps));
  archiveRoutes(app, deps);
  driftRoutes(app, deps);
  return { idle: () => snapshots.idle() };
}
