export { rebuildReadModel } from './admin.js';
export {
  ConfigError,
  databaseUrl,
  hasExternalDatabase,
  loadServerConfig,
  type ServerConfig,
  type ServerFlags,
} from './config.js';
export { createLogger } from './observability/index.js';
export type { Drift, RebuildOptions, RebuildReport } from './projection/index.js';
export { type Server, startServer } from './server.js';
export { messagingSettings } from './stream/index.js';
export { VERSION } from './version.js';
