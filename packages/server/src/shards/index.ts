export { prepareDatabases } from './prepare.js';
export { shardRoutes } from './routes.js';
