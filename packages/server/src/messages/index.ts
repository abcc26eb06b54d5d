export { type CourierOptions, deliverMessages } from './courier.js';
export { countMessages } from './store.js';
