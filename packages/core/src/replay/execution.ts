// The projection `execution`: how the whole run stands, where it was last, and every payload reference of its log.
import { list, optional, record, text } from './codec.js';
import type { Facts } from './event.js';
import { PAYLOAD_REFERENCE, type PayloadReference } from './payload.js';

export interface ReplayExecution {
  status: string;
  last_node_name: string | undefined;
  payload_refs: PayloadReference[];
}

export const EXECUTION = record<ReplayExecution>({
  status: text,
  last_node_name: optional(text),
  payload_refs: list(PAYLOAD_REFERENCE),
});

export function initialExecution(): ReplayExecution {
  return { status: 'UNKNOWN', last_node_name: undefined, payload_refs: [] };
}

/** The last terminal event wins. A step after it does not reopen the execution, but it is where the execution was last. */
export function foldExecution(execution: ReplayExecution, facts: Facts, payload: PayloadReference | undefined): void {
  switch (facts.type) {
    case 'playbook.completed':
    case 'playbook_completed':
      execution.status = 'COMPLETED';
      break;
    case 'playbook.failed':
    case 'playbook_failed':
      execution.status = 'FAILED';
      break;
    case 'playbook.cancelled':
    case 'playbook_cancelled':
      execution.status = 'CANCELLED';
      break;
    case 'step.enter':
    case 'step_enter':
    case 'step_started':
      if (execution.status === 'UNKNOWN') execution.status = 'RUNNING';
      execution.last_node_name = facts.nodeName ?? execution.last_node_name;
      break;
    case 'step.exit':
    case 'step_completed':
    case 'command.completed':
      execution.last_node_name = facts.nodeName ?? execution.last_node_name;
      break;
  }
  if (payload !== undefined) execution.payload_refs.push(payload);
}
