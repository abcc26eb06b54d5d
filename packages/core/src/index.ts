export type { Json, JsonObject } from './json/types.js';
export * from './playbook/diagnostics.js';
export type * from './playbook/model.js';
