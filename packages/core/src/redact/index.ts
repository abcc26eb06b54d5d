export { type HeaderValue, redact, redactHeaders } from './redact.js';
export { MASK } from './values.js';
