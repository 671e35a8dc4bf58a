-- People's control of what runs: pausing, draining, editing, and requests that may be repeated.

ALTER TABLE sweep ADD COLUMN paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)); -- 1: nothing new of it is started.
ALTER TABLE sweep ADD COLUMN revision INTEGER NOT NULL DEFAULT 1 CHECK (revision > 0); -- 1 as submitted; grows with each edit.
ALTER TABLE attempt ADD COLUMN sweep INTEGER REFERENCES sweep(id); -- Sweep whose share and max_parallel it counts for; NULL: leased before this was kept.
ALTER TABLE attempt ADD COLUMN yields TEXT; -- Why it was told to write a checkpoint and stop; NULL: it was not.
ALTER TABLE worker ADD COLUMN held INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1)); -- 1: a person drains it.
ALTER TABLE event ADD COLUMN notice INTEGER; -- Number among the notices of its sweep, from 1 without a gap; NULL: no notice.

-- Every event about a sweep was a notice so far.
UPDATE event SET notice = numbered.number
FROM (SELECT id, row_number() OVER (PARTITION BY sweep ORDER BY id) AS number FROM event WHERE sweep IS NOT NULL) AS numbered
WHERE event.id = numbered.id;
CREATE UNIQUE INDEX event_notice ON event(sweep, notice) WHERE notice IS NOT NULL;

-- What people asked for under a request_id, with the answer they got: the latest 10,000. Submissions are remembered by their sweep.
CREATE TABLE request (
  number INTEGER PRIMARY KEY CHECK (number > 0),       -- In the order of arrival.
  id TEXT NOT NULL UNIQUE,                             -- The client's name for the request.
  method TEXT NOT NULL,                                -- For example Cancel.
  digest TEXT NOT NULL,                                -- SHA-256 of the method and the content.
  answer BLOB NOT NULL,                                -- The response, serialised.
  at_ms INTEGER NOT NULL                               -- When.
) STRICT;
