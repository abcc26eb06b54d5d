export { createLogger } from './logger.js';
export { boundedType, createMetrics, type Metrics } from './metrics.js';
