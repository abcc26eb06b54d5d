-- One action on many executions, as a job with progress. Which executions is decided once, when the operation is made; each item is done at
-- least once and has the same effect twice, so any server may go on with it after a crash.
CREATE TABLE noetl.operation (
  operation_id bigint PRIMARY KEY,
  action text NOT NULL CHECK (action IN ('cancel', 'rerun')),
  request jsonb NOT NULL,
  status text NOT NULL DEFAULT 'RUNNING' CHECK (status IN ('RUNNING', 'COMPLETED', 'CANCELLED')),
  total int NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz);
CREATE INDEX operation_running ON noetl.operation (operation_id) WHERE status = 'RUNNING';

CREATE TABLE noetl.operation_item (
  operation_id bigint NOT NULL REFERENCES noetl.operation ON DELETE CASCADE,
  execution_id bigint NOT NULL,
  -- The execution that a rerun starts, chosen beforehand: twice is once.
  target_id bigint,
  status text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'DONE', 'SKIPPED', 'FAILED')),
  error text,
  lease_until timestamptz,
  PRIMARY KEY (operation_id, execution_id));
CREATE INDEX operation_item_open ON noetl.operation_item (operation_id) WHERE status = 'PENDING';
