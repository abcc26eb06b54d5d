// The worker as other packages use it: start one, give it tools, watch it.
export type { WorkerApi } from './api.js';
export { type ControlPlane, connectToControlPlane } from './control-plane.js';
export { type HealthOptions, type HealthServer, startHealthServer } from './health.js';
export { silentLog, type WorkerLog } from './log.js';
export { createWorkerMetrics, type WorkerMetrics } from './metrics.js';
export { startWorker, type Worker, type WorkerOptions, type WorkerPhase } from './runtime.js';
export type { Egress } from './tools/egress.js';
export {
  configurationError,
  connectionError,
  type ErrorInfo,
  type ErrorKind,
  httpError,
  missingReferenceError,
  postgresError,
  pythonError,
  storageError,
  ToolError,
} from './tools/errors.js';
export { createHttpTool, type HttpOptions } from './tools/http.js';
export { type BuiltinToolOptions, builtinTools, type ToolRegistry, toolRegistry } from './tools/index.js';
export { noopTool } from './tools/noop.js';
export { createPythonTool, type PythonOptions } from './tools/python.js';
export { shellTool } from './tools/shell.js';
export type { Tool, ToolCall, ToolResult, ToolStatus } from './tools/tool.js';
