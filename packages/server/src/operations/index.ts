export { type OperationDeps, operationRoutes } from './routes.js';
export { type RunnerOptions, runOperations } from './runner.js';
