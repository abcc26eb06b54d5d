// The tool kinds a playbook may name. The worker registers an implementation for each (packages/worker/src/tools).

export const TOOL_KINDS = [
  'http',
  'postgres',
  'duckdb',
  'ducklake',
  'python',
  'workbook',
  'playbook',
  'container',
  'script',
  'snowflake',
  'transfer',
  'snowflake_transfer',
  'gcs',
  'nats',
  'shell',
  'artifact',
  'noop',
  'task_sequence',
  'subscription',
  'wasm',
  'rhai',
  'mcp',
  'agent',
  'result_fetch',
  'secrets',
  'iterator',
  'gateway',
  'wait',
  'js',
] as const;

export type ToolKind = (typeof TOOL_KINDS)[number];

const KNOWN: ReadonlySet<string> = new Set(TOOL_KINDS);

export function isToolKind(kind: string): kind is ToolKind {
  return KNOWN.has(kind);
}
