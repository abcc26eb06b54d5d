// The worker as other packages use it: start one, give it tools, watch it.
export type { ExecutionApi, WorkerApi } from './api.js';
export { type ControlPlane, connectToControlPlane } from './control-plane.js';
export { dispatch, type Workshop } from './dispatch.js';
export { endingEvents, type Outcome, startedEvent } from './events.js';
export { type HealthOptions, type HealthServer, startHealthServer } from './health.js';
export { silentLog, type WorkerLog } from './log.js';
export { createWorkerMetrics, type WorkerMetrics } from './metrics.js';
export { type NatsWakeUpOptions, natsWakeUps, type WakeUps } from './nats-source.js';
export { createTaskSequenceTool } from './pipeline/index.js';
export type { ResultStore } from './results/index.js';
export { startWorker, type Worker, type WorkerOptions, type WorkerPhase } from './runtime.js';
export { createDuckdbTool, type DuckdbOptions } from './tools/duckdb.js';
export type { Egress } from './tools/egress.js';
export {
  configurationError,
  connectionError,
  type ErrorInfo,
  type ErrorKind,
  httpError,
  missingReferenceError,
  postgresError,
  processTimeout,
  pythonError,
  storageError,
  ToolError,
} from './tools/errors.js';
export { createHttpTool, type HttpOptions } from './tools/http.js';
export { type BuiltinToolOptions, builtinTools, type ToolRegistry, toolRegistry } from './tools/index.js';
export { noopTool } from './tools/noop.js';
export { createPostgresTool, type PostgresOptions } from './tools/postgres.js';
export { createPythonTool, type PythonOptions } from './tools/python.js';
export { shellTool } from './tools/shell.js';
export {
  type AnyTool,
  type Suspension,
  type Tool,
  type ToolAnswer,
  type ToolCall,
  type ToolResult,
  type ToolStatus,
  timedOut,
} from './tools/tool.js';
