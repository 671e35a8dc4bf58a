-- Which database this is: its backups have the same id. One row.
CREATE TABLE identity (
  one INTEGER PRIMARY KEY CHECK (one = 1),             -- There is one.
  id TEXT NOT NULL,                                    -- The state folder's files of attempts and its coordinator's calls belong to the database with it.
  start TEXT NOT NULL                                  -- Of the coordinator that worked on it last, which wrote the log beside it; empty in a backup.
) STRICT;
-- A database from before has its first submission as its identity, so that backups of it get the same one.
INSERT INTO identity SELECT 1, coalesce(
  (SELECT 'of-' || submitted_ms || '-' || lower(hex(substr(coalesce(request_id, ''), 1, 36))) FROM sweep ORDER BY id LIMIT 1),
  lower(hex(randomblob(16)))), '';
