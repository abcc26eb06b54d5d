export type { LiveWorker } from './explain.js';
export { executionRoutes } from './routes.js';
export { createStarter, type Starter } from './start.js';
export { startRoutes } from './start-routes.js';
export { executionById } from './store.js';
