-- Schema of the control plane. Forward only; every database (cluster and each shard) has all of it, and uses its part.
-- Ids are minted by the application: (ms since 2024-01-01) << 22 | machine << 12 | sequence. All times are timestamptz.

CREATE SCHEMA IF NOT EXISTS noetl;

-- ---- cluster: who and what ------------------------------------------------------------------------------------------------

CREATE TABLE noetl.resource (
  name text PRIMARY KEY,
  meta jsonb NOT NULL DEFAULT '{}');

INSERT INTO noetl.resource (name, meta) VALUES
  ('playbook',     '{"description":"Executable workflow","executable":true,"catalog":true}'),
  ('agent',        '{"description":"Executable agent","executable":true,"catalog":true}'),
  ('subscription', '{"description":"Message source that starts executions","executable":true,"catalog":true}'),
  ('credential',   '{"description":"Encrypted secret","executable":false,"catalog":false}'),
  ('mcp',          '{"description":"Model Context Protocol server","executable":false,"catalog":true}'),
  ('memory',       '{"description":"Agent memory","executable":false,"catalog":true}');

CREATE TABLE noetl.catalog (
  catalog_id bigint PRIMARY KEY,
  path text NOT NULL,
  version int NOT NULL,
  kind text NOT NULL REFERENCES noetl.resource (name),
  content text NOT NULL,
  content_hash text NOT NULL,
  layout jsonb,
  payload jsonb,
  meta jsonb,
  archived_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (path, version));
CREATE INDEX catalog_created ON noetl.catalog (created_at DESC, catalog_id DESC);

CREATE TABLE noetl.credential (
  id bigint PRIMARY KEY,
  name text NOT NULL UNIQUE,
  type text NOT NULL,
  data_encrypted text NOT NULL,
  schema jsonb,
  meta jsonb,
  tags text[],
  description text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now());

CREATE TABLE noetl.keychain (
  cache_key text PRIMARY KEY,
  keychain_name text NOT NULL,
  catalog_id bigint NOT NULL,
  credential_type text NOT NULL,
  cache_type text NOT NULL CHECK (cache_type IN ('secret', 'token')),
  scope_type text NOT NULL CHECK (scope_type IN ('local', 'global', 'shared')),
  execution_id bigint,
  parent_execution_id bigint,
  data_encrypted text NOT NULL,
  schema jsonb,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  accessed_at timestamptz,
  access_count int NOT NULL DEFAULT 0,
  auto_renew boolean NOT NULL DEFAULT false,
  renew_config jsonb);
CREATE INDEX keychain_catalog ON noetl.keychain (catalog_id);

CREATE TABLE noetl.secret_audit (
  audit_id bigint PRIMARY KEY,
  occurred_at timestamptz NOT NULL DEFAULT now(),
  credential text NOT NULL,
  operation text NOT NULL,
  outcome text NOT NULL,
  worker_id text,
  execution_id bigint,
  parent_execution_id bigint,
  server_region text,
  broker_region text,
  kek_version text,
  notes text);
CREATE INDEX secret_audit_credential ON noetl.secret_audit (credential, occurred_at DESC);

CREATE TABLE noetl.runtime (
  runtime_id bigint PRIMARY KEY,
  name text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('worker_pool', 'server_api', 'broker')),
  uri text,
  status text NOT NULL,
  labels jsonb,
  capabilities jsonb,
  capacity int,
  in_flight int,
  runtime jsonb,
  heartbeat timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (kind, name));

CREATE TABLE noetl.schedule (
  schedule_id bigint PRIMARY KEY,
  playbook_path text NOT NULL,
  playbook_version text,
  cron text,
  interval_seconds int,
  enabled boolean NOT NULL DEFAULT true,
  timezone text NOT NULL DEFAULT 'UTC',
  next_run_at timestamptz,
  last_run_at timestamptz,
  last_status text,
  input_payload jsonb,
  meta jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX schedule_due ON noetl.schedule (next_run_at) WHERE enabled;

-- A key names one start for ever: whoever comes second gets the execution of whoever came first.
CREATE TABLE noetl.idempotency (
  scope text NOT NULL,
  key text NOT NULL,
  execution_id bigint NOT NULL,
  request_hash text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (scope, key));
CREATE INDEX idempotency_created ON noetl.idempotency (created_at);

CREATE TABLE noetl.subscription_dedup (
  subscription_id bigint NOT NULL,
  dedup_key text NOT NULL,
  execution_id bigint NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (subscription_id, dedup_key));
CREATE INDEX subscription_dedup_seen ON noetl.subscription_dedup (subscription_id, seen_at);

CREATE TABLE noetl.machine_lease (
  machine_id int PRIMARY KEY CHECK (machine_id BETWEEN 0 AND 1023),
  owner text NOT NULL,
  lease_until timestamptz NOT NULL);

CREATE TABLE noetl.leader_lease (
  name text PRIMARY KEY,
  holder text NOT NULL,
  fencing_token bigint NOT NULL,
  lease_until timestamptz NOT NULL);

-- ---- shard: executions ----------------------------------------------------------------------------------------------------

-- Read model and append serialiser: one row per execution. Its lock is the only lock between replicas.
CREATE TABLE noetl.execution (
  execution_id bigint PRIMARY KEY,
  catalog_id bigint NOT NULL,
  path text NOT NULL,
  parent_execution_id bigint,
  parent_event_id bigint,
  root_execution_id bigint,
  status text NOT NULL DEFAULT 'RUNNING' CHECK (status IN ('PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED')),
  head_version bigint NOT NULL DEFAULT 0,
  last_event_id bigint,
  last_event_type text,
  last_node_name text,
  error text,
  routing jsonb NOT NULL DEFAULT '{}',
  tenant_id text NOT NULL DEFAULT 'default',
  organization_id text NOT NULL DEFAULT 'default',
  start_time timestamptz NOT NULL DEFAULT now(),
  end_time timestamptz,
  updated_at timestamptz NOT NULL DEFAULT now())
  WITH (fillfactor = 70);
CREATE INDEX execution_newest ON noetl.execution (start_time DESC, execution_id DESC);
CREATE INDEX execution_parent ON noetl.execution (parent_execution_id) WHERE parent_execution_id IS NOT NULL;
CREATE INDEX execution_catalog ON noetl.execution (catalog_id);

-- The only truth. Partitioned by month of the execution's id (db/partitions.ts); no DEFAULT partition, it would block DETACH CONCURRENTLY.
CREATE TABLE noetl.event (
  execution_id bigint NOT NULL,
  event_id bigint NOT NULL,
  stream_version bigint NOT NULL,
  tx_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
  catalog_id bigint NOT NULL,
  parent_event_id bigint,
  parent_execution_id bigint,
  event_type text NOT NULL,
  node_id text,
  node_name text,
  node_type text,
  status text,
  command_id text,
  worker_id text,
  duration double precision,
  context jsonb,
  result jsonb,
  meta jsonb,
  error text,
  tenant_id text NOT NULL DEFAULT 'default',
  organization_id text NOT NULL DEFAULT 'default',
  created_at timestamptz NOT NULL DEFAULT now(),
  ingest_time timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (execution_id, event_id),
  UNIQUE (execution_id, stream_version),
  CONSTRAINT chk_event_result_shape CHECK (result IS NULL OR (
    jsonb_typeof(result) = 'object'
    AND result ? 'status' AND jsonb_typeof(result -> 'status') = 'string'
    AND result - ARRAY['status', 'reference', 'context'] = '{}'::jsonb
    AND coalesce(jsonb_typeof(result -> 'reference'), 'object') = 'object'
    AND coalesce(jsonb_typeof(result -> 'context'), 'object') = 'object')))
  PARTITION BY RANGE (execution_id);
CREATE INDEX event_feed ON noetl.event (tx_id, execution_id, stream_version);

-- The queue. Leases live here, history (and the command's context) lives in the log. The key is the id of the command.issued event, which
-- every command id ends with: an index on the text would cost more than all others together.
CREATE TABLE noetl.command (
  event_id bigint PRIMARY KEY,
  command_id text NOT NULL,
  execution_id bigint NOT NULL,
  catalog_id bigint NOT NULL,
  step_name text NOT NULL,
  tool_kind text,
  pool text NOT NULL,
  status text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'CLAIMED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED')),
  attempt int NOT NULL DEFAULT 1,
  max_attempts int NOT NULL DEFAULT 3,
  worker_id text,
  claim_token bigint NOT NULL DEFAULT 0,
  lease_until timestamptz,
  available_at timestamptz NOT NULL DEFAULT now(),
  error text,
  latest_event_id bigint,
  created_at timestamptz NOT NULL DEFAULT now(),
  claimed_at timestamptz,
  started_at timestamptz,
  completed_at timestamptz,
  updated_at timestamptz NOT NULL DEFAULT now())
  WITH (fillfactor = 70);
CREATE INDEX command_ready ON noetl.command (pool, available_at) WHERE status = 'PENDING';
CREATE INDEX command_leased ON noetl.command (lease_until) WHERE status IN ('CLAIMED', 'RUNNING');
CREATE INDEX command_finished ON noetl.command (completed_at) WHERE completed_at IS NOT NULL;

CREATE TABLE noetl.outbox (
  outbox_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic text NOT NULL,
  subject text NOT NULL,
  msg_id text NOT NULL UNIQUE,
  ordering_key text,
  execution_id bigint,
  event_id bigint,
  payload jsonb NOT NULL,
  payload_codec text NOT NULL DEFAULT 'json',
  headers jsonb NOT NULL DEFAULT '{}',
  status text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'IN_FLIGHT', 'PUBLISHED', 'FAILED', 'DEAD')),
  attempts int NOT NULL DEFAULT 0,
  available_at timestamptz NOT NULL DEFAULT now(),
  locked_at timestamptz,
  locked_by text,
  lock_token bigint NOT NULL DEFAULT 0,
  lease_until timestamptz,
  published_at timestamptz,
  last_error text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX outbox_ready ON noetl.outbox (available_at, outbox_id) WHERE status IN ('PENDING', 'FAILED');
CREATE INDEX outbox_leased ON noetl.outbox (lease_until) WHERE status = 'IN_FLIGHT';
CREATE INDEX outbox_published ON noetl.outbox (published_at) WHERE status = 'PUBLISHED';

CREATE TABLE noetl.projection_snapshot (
  aggregate_id text NOT NULL,
  aggregate_type text NOT NULL,
  tenant_id text NOT NULL DEFAULT 'default',
  organization_id text NOT NULL DEFAULT 'default',
  version bigint NOT NULL,
  snapshot jsonb NOT NULL,
  checksum text NOT NULL,
  meta jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, organization_id, aggregate_type, aggregate_id));

CREATE TABLE noetl.stream_cursor (
  name text PRIMARY KEY,
  position text NOT NULL,
  fencing_token bigint NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL DEFAULT now());

CREATE TABLE noetl.subscription (
  subscription_id bigint PRIMARY KEY,
  path text NOT NULL,
  catalog_id bigint NOT NULL,
  state text NOT NULL CHECK (state IN ('REGISTERED', 'ACTIVE', 'PAUSED', 'DRAINING', 'DEACTIVATED')),
  revision bigint NOT NULL DEFAULT 1,
  last_event_type text NOT NULL,
  last_event_id bigint NOT NULL,
  holder text,
  lease_until timestamptz,
  updated_at timestamptz NOT NULL DEFAULT now());
CREATE UNIQUE INDEX subscription_live_path ON noetl.subscription (path) WHERE state <> 'DEACTIVATED';

CREATE TABLE noetl.transient (
  execution_id bigint NOT NULL,
  var_name text NOT NULL,
  var_type text NOT NULL CHECK (var_type IN ('user_defined', 'step_result', 'computed', 'iterator_state')),
  var_value jsonb NOT NULL,
  source_step text,
  scope text NOT NULL DEFAULT 'execution' CHECK (scope IN ('step', 'execution', 'workflow', 'permanent')),
  created_at timestamptz NOT NULL DEFAULT now(),
  accessed_at timestamptz NOT NULL DEFAULT now(),
  access_count int NOT NULL DEFAULT 0,
  expires_at timestamptz,
  PRIMARY KEY (execution_id, var_name));

CREATE TABLE noetl.result_store (
  result_id bigint PRIMARY KEY,
  execution_id bigint NOT NULL,
  name text NOT NULL,
  scope text NOT NULL,
  source_step text,
  data jsonb NOT NULL,
  bytes bigint NOT NULL,
  sha256 text NOT NULL,
  media_type text NOT NULL DEFAULT 'application/json',
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz);
CREATE INDEX result_store_name ON noetl.result_store (execution_id, name);
CREATE INDEX result_store_created ON noetl.result_store (created_at);
