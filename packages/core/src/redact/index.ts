export { describeError, type HeaderValue, redact, redactHeaders, redactLog } from './redact.js';
export { MASK } from './values.js';
