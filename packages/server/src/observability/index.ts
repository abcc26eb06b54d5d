export { createLogger } from './logger.js';
export { createMetrics, type Metrics } from './metrics.js';
