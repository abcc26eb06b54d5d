// Why a sequence failed, when it is not simply the error of the task.
import { type ErrorInfo, ToolError } from '../tools/errors.js';
import { TASK_SEQUENCE } from './task.js';

export interface Failure {
  readonly error: string;
  readonly error_info: ErrorInfo;
}

function failure(message: string, code: string, kind: ErrorInfo['kind'] = 'unknown'): Failure {
  const { info } = new ToolError(message, { kind, retryable: false, code, source: TASK_SEQUENCE });
  return { error: message, error_info: info };
}

export function failedByRule(index: number, label: string): Failure {
  return failure(`policy rule triggered fail for task[${index}] '${label}'`, 'POLICY_FAIL');
}

/** The task succeeded each time, and each time a rule asked for another execution. */
export function retriesExhausted(label: string, executions: number): Failure {
  return failure(`task '${label}' still asks for a retry after ${executions} executions`, 'RETRY_EXHAUSTED');
}

export function jumpTargetMissing(label: string, to: string): Failure {
  return failure(`task '${label}': jump target '${to}' not found`, 'JUMP_TARGET_NOT_FOUND', 'configuration');
}

export function tooManyExecutions(limit: number): Failure {
  return failure(`max_iterations_exceeded: more than ${limit} task executions`, 'MAX_ITERATIONS_EXCEEDED');
}

export function unreadableState(): ToolError {
  return new ToolError(
    'the list was suspended by a worker of another version, and its step is declared not idempotent: it cannot begin anew',
    { kind: 'unknown', retryable: false, code: 'STATE_UNREADABLE', source: TASK_SEQUENCE },
  );
}
