-- What the tailer must remember beside its position.
ALTER TABLE noetl.stream_cursor
  -- Where it began; a stream that was lost is never filled from before this.
  ADD COLUMN floor text,
  -- When the stream was created that the position is about. Another time means another stream.
  ADD COLUMN stream_created text,
  -- Highest number that this stream has given to a message of ours.
  ADD COLUMN stream_sequence bigint NOT NULL DEFAULT 0,
  -- Positions of the last hours, oldest first: where to begin again when the stream is lost.
  ADD COLUMN history jsonb NOT NULL DEFAULT '[]',
  -- Newest event that the stream has acknowledged.
  ADD COLUMN event_id bigint,
  ADD COLUMN last_error text,
  ADD COLUMN last_error_at timestamptz;
