-- What this database is to the installation, written by the first server that starts on it. An execution is found by the number of its shard
-- and by how many shards there are: a server that was given other databases, or the same ones in another order, must not start.
CREATE TABLE noetl.database_role (
  role text PRIMARY KEY CHECK (role IN ('cluster', 'shard')),
  installation_id uuid NOT NULL,
  shard_count int NOT NULL CHECK (shard_count > 0),
  shard_index int CHECK ((role = 'shard') = (shard_index IS NOT NULL) AND shard_index >= 0 AND shard_index < shard_count),
  -- Of the cluster database: every shard has been told its place. Until then some may not know it yet.
  settled boolean NOT NULL DEFAULT false,
  recorded_at timestamptz NOT NULL DEFAULT now());
