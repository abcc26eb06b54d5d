export { containerCallbackRoutes } from './container-callback-routes.js';
export { guardInternal, INTERNAL_TOKEN, isInternal } from './guard.js';
