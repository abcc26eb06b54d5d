export { createLeaseDesk, type LeaseDesk } from './lease.js';
export { type CommandQueue, createCommandQueue } from './queue.js';
export { readyFromOffer } from './ready.js';
export { createReporter, type Reporter } from './report.js';
export { commandRoutes } from './routes.js';
export { commandStatuses, expireLeasesOfWorker, renewLeases, renewLeasesOfWorker } from './store.js';
export { endDue, refill, requeueExpired } from './sweeper.js';
