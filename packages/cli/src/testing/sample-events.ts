// Event rows for tests of the tree: only what a test is about is written out.
import type { WireEvent } from '@noetl/client';

export type SampleEvent = { type: string; step?: string; at?: number } & Partial<
  Pick<WireEvent, 'status' | 'meta' | 'result' | 'context' | 'error'>
>;

/** Numbered and timed in the order given. */
export function log(...samples: readonly SampleEvent[]): WireEvent[] {
  return samples.map(({ type, step, at, ...fields }, index) => {
    const created = new Date(at ?? index).toISOString();
    return {
      execution_id: '1',
      event_id: String(900 + index),
      stream_version: index + 1,
      catalog_id: '2',
      parent_event_id: null,
      parent_execution_id: null,
      event_type: type,
      node_id: step ?? null,
      node_name: step ?? null,
      node_type: null,
      status: '',
      command_id: null,
      worker_id: null,
      duration: null,
      context: null,
      result: null,
      meta: null,
      error: null,
      created_at: created,
      timestamp: created,
      ...fields,
    };
  });
}
