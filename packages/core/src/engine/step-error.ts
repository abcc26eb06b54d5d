// A step that cannot even begin: its configuration renders to something that makes no sense, or does not render at all.
import { TemplateError } from '../template/index.js';
import type { ErrorInfo } from './events.js';

export class StepError extends Error {
  constructor(
    readonly kind: string,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Undefined: not the author's error, so not the step's failure. */
export function stepFailure(error: unknown): { error: string; info: ErrorInfo } | undefined {
  if (error instanceof StepError) {
    const { kind, code, message } = error;
    return { error: message, info: { kind, retryable: false, code, message } };
  }
  if (!(error instanceof TemplateError)) return undefined;
  const { message } = error;
  return {
    error: `Template error: ${message}`,
    info: { kind: 'transform', retryable: false, code: 'TEMPLATE_ERROR', message },
  };
}
