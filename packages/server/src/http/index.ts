export { isLoopbackName, sameSecret } from './access.js';
export { type App, type AppOptions, createApp } from './app.js';
export { healthRoutes } from './health.js';
