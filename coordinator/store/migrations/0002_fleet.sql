-- The fleet: what it is, and the jobs that its engine was asked for. One row, or none.
CREATE TABLE fleet (
  one INTEGER PRIMARY KEY CHECK (one = 1),             -- There is one fleet.
  id TEXT NOT NULL,                                    -- In the names of its jobs.
  config TEXT NOT NULL CHECK (json_valid(config)),     -- FleetConfig, JSON.
  from_configuration INTEGER NOT NULL CHECK (from_configuration IN (0, 1)),  -- 1: the coordinator's configuration had it at the last start.
  minimum INTEGER,                                     -- Jobs that are kept; NULL: as its configuration has it.
  maximum INTEGER,                                     -- Most jobs; NULL: as its configuration has it.
  stopped INTEGER NOT NULL CHECK (stopped IN (0, 1))   -- 1: a person has stopped it.
) STRICT;

-- Jobs that the fleet's engine was asked for with one call. A row is stored before the call.
CREATE TABLE fleet_submission (
  number INTEGER PRIMARY KEY CHECK (number > 0),       -- In the name of the jobs; grows.
  jobs INTEGER NOT NULL CHECK (jobs > 0),              -- How many.
  state TEXT NOT NULL                                  -- ASKED: it is not known whether the engine took them. LOST: they never showed in its queue.
    CHECK (state = 'ASKED' OR state = 'TAKEN' OR state = 'REFUSED' OR state = 'ENDED' OR state = 'LOST'),
  job TEXT,                                            -- The engine's id of the job or of the array; NULL: not known.
  message TEXT NOT NULL,                               -- Why it was refused, or how it ended.
  at_ms INTEGER NOT NULL,                              -- When it was stored.
  ended_ms INTEGER,                                    -- When the last of them had ended, or it was refused or given up; NULL: not yet.
  CHECK ((state = 'ASKED' OR state = 'TAKEN') = (ended_ms IS NULL))
) STRICT;
CREATE INDEX fleet_submission_open ON fleet_submission(number) WHERE ended_ms IS NULL;
