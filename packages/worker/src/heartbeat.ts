// Tells the control plane that this worker lives and which leases to renew, and learns which commands were cancelled or
// lost. A beat that fails or hangs changes nothing: the next one comes on time, and the leases outlast several.
import type { HeartbeatRequest, HeartbeatResponse } from '@noetl/client';
import { type ApiFailure, describeFailure, type WorkerApi } from './api.js';
import { pause } from './backoff.js';

export interface Beat {
  readonly request: HeartbeatRequest;
  /** Gets the answer to exactly this request. */
  onAnswer(answer: HeartbeatResponse): void;
}

export interface HeartbeatOptions {
  readonly api: WorkerApi;
  readonly intervalMs: number;
  readonly signal: AbortSignal;
  beat(): Beat;
  /** The server does not know this worker (any more). */
  onUnknown(): Promise<void>;
  onFailure(failure: ApiFailure): void;
}

export interface Heartbeat {
  /** One beat now, besides the regular ones. Never rejects. */
  now(): Promise<void>;
}

export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { api, intervalMs, signal } = options;

  const now = async (): Promise<void> => {
    const { request, onAnswer } = options.beat();
    try {
      onAnswer(await api.heartbeat(request));
    } catch (error) {
      const failure = describeFailure(error);
      if (signal.aborted) return;
      if (failure.status === 404) await options.onUnknown();
      else options.onFailure(failure);
    }
  };

  const loop = async (): Promise<void> => {
    // Registering was the first sign of life.
    await pause(intervalMs, signal);
    while (!signal.aborted) {
      const rest = pause(intervalMs, signal);
      await Promise.race([now(), rest]);
      await rest;
    }
  };
  void loop();
  return { now };
}
