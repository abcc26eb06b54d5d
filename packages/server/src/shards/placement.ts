// May these databases be these shards? XXH64(execution id) mod count finds an execution only while every database keeps its place, so each
// remembers it, and a start with other databases, another order or another number is refused before anything is written.

/** What the cluster database remembers. */
export interface ClusterRole {
  readonly installation: string;
  readonly count: number;
  /** Every shard knows its place: one that does not is another database. */
  readonly settled: boolean;
}

/** What the database of a shard remembers. */
export interface ShardRole {
  readonly installation: string;
  readonly index: number;
  readonly count: number;
}

export interface Remembered {
  readonly cluster: ClusterRole | undefined;
  /** In the order they are configured. */
  readonly shards: readonly (ShardRole | undefined)[];
}

export interface Names {
  readonly cluster: string;
  readonly shards: readonly string[];
}

/** Why a server must not start on these databases; undefined when it may. */
export function misplacement(remembered: Remembered, names: Names): string | undefined {
  const { cluster, shards } = remembered;
  const known = shards.findIndex((role) => role !== undefined && role.installation !== cluster?.installation);
  if (known >= 0) {
    return `${names.shards[known]} does not belong to ${names.cluster}, but to another installation, and the catalog of an installation is in its cluster database: name the databases that belong together (NOETL_CLUSTER_DSN; without it, the first shard)`;
  }
  // No server has ever run on these databases: whatever was noted by a start that failed half-way is written again.
  if (cluster?.settled !== true) return undefined;
  if (cluster.count !== shards.length) return countChanged(cluster.count, shards.length);
  const wrong = shards.findIndex((role, index) => role?.index !== index);
  if (wrong < 0) return undefined;
  const role = shards[wrong];
  const place = role === undefined ? 'has no place in this installation' : `is shard ${role.index}, not shard ${wrong}`;
  return `${names.shards[wrong]} ${place}: an execution is found by the order of NOETL_SHARDS. Name the same databases in the same order as before`;
}

function countChanged(before: number, now: number): string {
  const shards = (count: number) => (count === 1 ? 'one shard' : `${count} shards`);
  return `this installation has ${shards(before)}, and NOETL_SHARDS names ${now}: the number decides where an execution lives and can never change. To have another number, start a new installation on empty databases`;
}
