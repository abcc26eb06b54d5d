// Gives commands back to the server: because this worker leaves or has no room, or because the tool has suspended itself and wants to be
// called again later. A release is repeated until the server has answered, or the worker is gone.
import type { LeasedCommand, ReleaseRequest } from '@noetl/client';
import { stringifyJson } from '@noetl/core';
import { type ApiFailure, describeFailure, refusesBody, type WorkerApi } from './api.js';
import { persist } from './backoff.js';
import type { WorkerLog } from './log.js';

export type ReleaseTerms = Pick<ReleaseRequest, 'reason' | 'delay_ms' | 'resume'>;

/** `refused`: the server cannot take what the request says, and the command is still ours. `released`: it is not, whoever has it now. */
export type ReleaseOutcome = 'released' | 'refused';

export interface Releases {
  /** Never rejects. The attempt is not used up. */
  release(command: LeasedCommand, terms: ReleaseTerms): Promise<ReleaseOutcome>;
  /** Resolves when every release so far is answered. */
  settled(): Promise<unknown>;
}

/** What the server takes is somewhat larger; the rest of the request is small. */
const MAX_RESUME_BYTES = 4 * 1024 * 1024;

export function createReleases(options: {
  readonly api: Pick<WorkerApi, 'release'>;
  readonly workerId: string;
  readonly signal: AbortSignal;
  readonly log: WorkerLog;
}): Releases {
  const { api, workerId, signal, log } = options;
  const open = new Set<Promise<ReleaseOutcome>>();

  async function send(command: LeasedCommand, terms: ReleaseTerms): Promise<ReleaseOutcome> {
    const ids = { execution_id: command.execution_id, command_id: command.command_id };
    const request = { worker_id: workerId, claim_token: command.claim_token, ...terms, count_attempt: false };
    try {
      await persist(
        () => api.release(command.event_id, request),
        signal,
        (failure) => log.warn({ ...ids, reason: failure.message }, 'release failed'),
        (failure) => isGone(failure) || refusesBody(failure),
      );
    } catch (error) {
      const failure = describeFailure(error);
      log.warn({ ...ids, reason: failure.message }, 'command could not be given back');
      if (refusesBody(failure) && !isGone(failure)) return 'refused';
    }
    return 'released';
  }

  return {
    release(command, terms) {
      const sent = send(command, terms);
      open.add(sent);
      void sent.then(() => open.delete(sent));
      return sent;
    },
    settled: () => Promise.all(open),
  };
}

/** False for a state that is too large for a release, or that JSON cannot carry at all. */
export function canTravel(state: unknown): boolean {
  try {
    return Buffer.byteLength(stringifyJson(state)) <= MAX_RESUME_BYTES;
  } catch {
    return false;
  }
}

/** Somebody else has the command, or it has ended, or it was never there: a release has nothing left to do. */
function isGone({ status }: ApiFailure): boolean {
  return status === 404 || status === 409;
}
