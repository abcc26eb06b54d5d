// The worker's way to stored results. A server that is away is waited for, like everywhere else; what the server refuses is an error of
// the command, so that its execution learns of it.
import type { PutResultResponse } from '@noetl/client';
import type { Json } from '@noetl/core';
import { describeFailure, refusesBody, type WorkerApi } from '../api.js';
import { persist } from '../backoff.js';
import type { WorkerLog } from '../log.js';
import { missingReferenceError, ToolError } from '../tools/errors.js';

export interface StoreRequest {
  readonly executionId: string;
  readonly name: string;
  readonly step: string;
  readonly data: Json;
  readonly scope: string;
  readonly ttl: Json;
}

export interface ResultStore {
  /** The same content under the same name is stored once, so this may be repeated. */
  put(request: StoreRequest, signal: AbortSignal): Promise<PutResultResponse>;
  /** The content as it was put; undefined when there is none (any more). */
  find(ref: string, signal: AbortSignal): Promise<{ readonly content: Json } | undefined>;
}

/** Longest name that the server takes. A step may have a longer one. */
const MAX_NAME = 500;

export function createResultStore(api: Pick<WorkerApi, 'putResult' | 'resolveResult'>, log: WorkerLog): ResultStore {
  const waiting = (what: string) => (failure: { message: string; status?: number }) =>
    log.warn({ reason: failure.message, status: failure.status }, what);

  return {
    async put({ executionId, name, step, data, scope, ttl }, signal) {
      const body = {
        name: name.slice(0, MAX_NAME),
        data,
        scope,
        source_step: step.slice(0, MAX_NAME),
        ...(ttl === null ? {} : { ttl }),
      };
      try {
        return await persist(
          () => api.putResult(executionId, body, { signal }),
          signal,
          waiting('a result could not be stored yet'),
          refusesBody,
        );
      } catch (error) {
        const failure = describeFailure(error);
        if (!refusesBody(failure)) throw error;
        throw new ToolError(`The result could not be stored: ${failure.message}`, {
          kind: failure.status === 413 ? 'storage_quota' : 'unknown',
          retryable: false,
          code: 'RESULT_STORE_FAILED',
          source: 'worker',
        });
      }
    },

    async find(ref, signal) {
      const missing = (status: number | undefined) => status === 400 || status === 404;
      try {
        const content = await persist(
          () => api.resolveResult(ref, { signal }),
          signal,
          waiting('a stored result could not be read yet'),
          (failure) => missing(failure.status) || refusesBody(failure),
        );
        return { content };
      } catch (error) {
        if (missing(describeFailure(error).status)) return undefined;
        throw error;
      }
    },
  };
}

export function goneMessage(ref: string): string {
  return `the stored result ${ref} is gone: it expired, or was deleted`;
}

export function missingResult(ref: string): ToolError {
  const { message, ...info } = missingReferenceError(goneMessage(ref));
  return new ToolError(message, info);
}
