export { subscriptionRoutes } from './routes.js';
export { createSubscriptions, type Subscriptions } from './subscriptions.js';
