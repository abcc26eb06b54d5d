// Results by reference: what is too large for the log is stored, and read back when something needs it.
export { createResultAccess, type ResultAccess, readyFor } from './access.js';
export { keepResult } from './keep.js';
export { createResultStore, missingResult, type ResultStore, type StoreRequest } from './store.js';
