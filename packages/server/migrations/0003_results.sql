-- Results that are too large for the log. `json` keeps the text as it came (order of keys, every digit, U+0000), which jsonb does not, and a
-- result is only ever read as a whole.
ALTER TABLE noetl.result_store ALTER COLUMN data TYPE json;

-- A report that is tried again stores nothing twice: the same content under the same name is the same result.
CREATE UNIQUE INDEX result_store_content ON noetl.result_store (execution_id, name, scope, sha256);
DROP INDEX noetl.result_store_name;
DROP INDEX noetl.result_store_created;

CREATE INDEX result_store_expiring ON noetl.result_store (expires_at) WHERE expires_at IS NOT NULL;
