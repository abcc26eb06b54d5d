export { healthRoutes } from './health.js';
export { isLoopbackName, sameSecret } from './access.js';
export { type App, type AppOptions, createApp } from './app.js';
