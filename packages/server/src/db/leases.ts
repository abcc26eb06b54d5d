// Leases in the cluster database: a machine number for minting ids, and leadership of background work.
// Whoever loses a lease must stop at once; the fencing token lets others tell an old leader from the new one.
import type pg from 'pg';

export interface MachineLease {
  readonly machineId: number;
  /** False when it is lost for good. */
  renew(): Promise<boolean>;
  release(): Promise<void>;
}

const TAKE_MACHINE = `
  WITH free AS (
    SELECT n FROM generate_series($1::int, $2::int) AS n
    WHERE NOT EXISTS (SELECT 1 FROM noetl.machine_lease l WHERE l.machine_id = n AND l.lease_until > now())
    ORDER BY n)
  INSERT INTO noetl.machine_lease (machine_id, owner, lease_until)
  SELECT n, $3, now() + $4 * interval '1 ms' FROM free LIMIT 1
  ON CONFLICT (machine_id) DO UPDATE SET owner = EXCLUDED.owner, lease_until = EXCLUDED.lease_until
    WHERE noetl.machine_lease.lease_until <= now()
  RETURNING machine_id`;

const RENEW_MACHINE = `
  UPDATE noetl.machine_lease SET lease_until = now() + $3 * interval '1 ms'
  WHERE machine_id = $1 AND owner = $2 RETURNING machine_id`;

export async function takeMachineLease(
  pool: pg.Pool,
  owner: string,
  options: { ttlMs: number; from: number; to: number },
): Promise<MachineLease> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const taken = await pool.query<{ machine_id: number }>(TAKE_MACHINE, [
      options.from,
      options.to,
      owner,
      options.ttlMs,
    ]);
    const machineId = taken.rows[0]?.machine_id;
    if (machineId === undefined) continue; // another server was faster to this number
    return {
      machineId,
      renew: async () => (await pool.query(RENEW_MACHINE, [machineId, owner, options.ttlMs])).rowCount === 1,
      release: async () => {
        await pool.query('DELETE FROM noetl.machine_lease WHERE machine_id = $1 AND owner = $2', [machineId, owner]);
      },
    };
  }
  throw new Error(`no free machine id between ${options.from} and ${options.to}: are there that many servers?`);
}

const TAKE_LEADERSHIP = `
  INSERT INTO noetl.leader_lease AS l (name, holder, fencing_token, lease_until)
  VALUES ($1, $2, 1, now() + $3 * interval '1 ms')
  ON CONFLICT (name) DO UPDATE SET
    fencing_token = CASE WHEN l.holder = EXCLUDED.holder THEN l.fencing_token ELSE l.fencing_token + 1 END,
    holder = EXCLUDED.holder,
    lease_until = EXCLUDED.lease_until
    WHERE l.holder = EXCLUDED.holder OR l.lease_until <= now()
  RETURNING fencing_token`;

/** Takes or renews; the fencing token, or undefined while somebody else leads. */
export async function lead(pool: pg.Pool, name: string, holder: string, ttlMs: number): Promise<string | undefined> {
  const result = await pool.query<{ fencing_token: string }>(TAKE_LEADERSHIP, [name, holder, ttlMs]);
  return result.rows[0]?.fencing_token;
}

export async function resign(pool: pg.Pool, name: string, holder: string): Promise<void> {
  await pool.query('UPDATE noetl.leader_lease SET lease_until = now() WHERE name = $1 AND holder = $2', [name, holder]);
}

export interface Leader {
  readonly holder: string;
  readonly lease_until: string;
}

/** Who leads right now. */
export async function leaderOf(pool: pg.Pool, name: string): Promise<Leader | undefined> {
  const result = await pool.query<Leader>(
    'SELECT holder, lease_until FROM noetl.leader_lease WHERE name = $1 AND lease_until > now()',
    [name],
  );
  return result.rows[0];
}
