export {
  ConfigError,
  databaseUrl,
  hasExternalDatabase,
  loadServerConfig,
  type ServerConfig,
  type ServerFlags,
} from './config.js';
export { createLogger } from './observability/index.js';
export { type Server, startServer } from './server.js';
export { VERSION } from './version.js';
