export type * from './api.js';
export { type CallOptions, type ClientOptions, createClient, type ExecuteOptions, type NoetlClient } from './client.js';
export { ApiError, isRetryable, retryAfterMs, UnreachableError } from './errors.js';
export type * from './operations.js';
export type * from './replay.js';
export type * from './shapes.js';
export { createSseParser, type SseMessage, type SseParser } from './sse.js';
export type { StreamOptions } from './stream.js';
export type { Answer, Fetch } from './transport.js';
