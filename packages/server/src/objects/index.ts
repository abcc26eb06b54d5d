export { objectRoutes } from './routes.js';
