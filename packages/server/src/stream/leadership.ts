// A term as leader: it lasts as long as the lease is renewed in time and NATS is reachable. Renewal has its own clock, so that slow work
// cannot lose the lease; and a process that was asleep longer than its lease finds its term over before it does anything else.
import type pg from 'pg';
import { lead, resign } from '../db/index.js';
import { every } from '../periodic.js';

export interface Term {
  readonly token: string;
  /** Fires when the lead is lost or given up. */
  readonly over: AbortSignal;
  /** Throws when the term is over. */
  check(): void;
}

/** A leader that dies is replaced within the lease plus one try. */
const LEASE_MS = 5_000;
const RENEW_MS = 1_250;

export class LeadLost extends Error {
  override readonly name = 'LeadLost';
}

/** Runs `work` as leader; false when somebody else leads. The lease is given back when the work ends. */
export async function asLeader(
  options: { pool: pg.Pool; name: string; holder: string; until: AbortSignal },
  work: (term: Term) => Promise<void>,
): Promise<boolean> {
  const { pool, name, holder } = options;
  let renewed = performance.now();
  const token = await lead(pool, name, holder, LEASE_MS);
  if (token === undefined) return false;
  const lost = new AbortController();
  const over = AbortSignal.any([lost.signal, options.until]);
  const lose = (reason: string) => lost.abort(new LeadLost(reason));
  const check = () => {
    if (performance.now() - renewed > LEASE_MS) lose('the lease ran out');
    over.throwIfAborted();
  };
  const renewal = every(
    RENEW_MS,
    async () => {
      const asked = performance.now();
      const current = await lead(pool, name, holder, LEASE_MS);
      if (current === token) renewed = asked;
      else lose('another server leads');
    },
    () => performance.now() - renewed > LEASE_MS && lose('the lease could not be renewed'),
  );
  try {
    await work({ token, over, check });
  } finally {
    await renewal.stop();
    await resign(pool, name, holder).catch(() => undefined);
  }
  return true;
}
