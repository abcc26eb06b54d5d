export { liveWorkers, runtimeRoutes } from './routes.js';
export { markOffline } from './store.js';
