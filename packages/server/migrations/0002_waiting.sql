-- Commands that no worker runs (a wait, a child execution), deadlines, and what executions tell each other.

ALTER TABLE noetl.command DROP CONSTRAINT command_status_check;
ALTER TABLE noetl.command ADD CONSTRAINT command_status_check
  CHECK (status IN ('PENDING', 'CLAIMED', 'RUNNING', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED'));

-- `timeout_ms`: how long a worker may take once it has claimed the command. `due_at`: when somebody must look at it at the latest; NULL once it
-- is finished, so the index holds open deadlines only.
-- `resume_event_id`: the newest event that says where a list of tools goes on.
ALTER TABLE noetl.command ADD COLUMN timeout_ms bigint, ADD COLUMN due_at timestamptz, ADD COLUMN resume_event_id bigint;
CREATE INDEX command_due ON noetl.command (due_at) WHERE due_at IS NOT NULL;

-- Written with the events they follow from, deleted once the other execution has them. Lives on the shard of the sender.
CREATE TABLE noetl.message (
  message_id bigint PRIMARY KEY,
  sender_id bigint NOT NULL,
  target_id bigint NOT NULL,
  body jsonb NOT NULL,
  attempts int NOT NULL DEFAULT 0,
  available_at timestamptz NOT NULL DEFAULT now(),
  last_error text,
  created_at timestamptz NOT NULL DEFAULT now());
CREATE INDEX message_ready ON noetl.message (available_at, message_id);
