-- Tables are internal and named in the singular; people query the views (param_view.cc), which are plural. Text after "--" beside a
-- column stands in docs/reference/schema.md. Times are milliseconds since 1970 UTC. Rules compare with OR where IN would do: SQLite makes a
-- table for a list of three or more each time it looks at one, which was half of what a commit cost.

-- An ablation as submitted.
CREATE TABLE sweep (
  id INTEGER PRIMARY KEY,                              -- Shown as s-<id>.
  name TEXT NOT NULL,                                  -- Several sweeps may share one.
  spec TEXT NOT NULL CHECK (json_valid(spec)),         -- SweepSpec.
  state TEXT NOT NULL DEFAULT 'ACTIVE'                 -- A value of SweepState.
    CHECK (state = 'ACTIVE' OR state = 'COMPLETE' OR state = 'SWEEP_CANCELLED' OR state = 'STOPPED_BY_FAILURES'),
  points INTEGER NOT NULL CHECK (points >= 0),         -- Size of the grid.
  trials INTEGER NOT NULL CHECK (trials >= 0),         -- Points that are not left out.
  trials_known INTEGER NOT NULL DEFAULT 0,             -- Trials that had their result when it was submitted.
  next_point INTEGER NOT NULL DEFAULT 0,               -- Points before it have been expanded into trials.
  request_id TEXT UNIQUE,                              -- The client's name for the submission.
  request_digest TEXT NOT NULL DEFAULT '',             -- Of the submission's content.
  submitted_ms INTEGER NOT NULL,                       -- When.
  ended_ms INTEGER,                                    -- When its last trial ended; NULL while ACTIVE.
  CHECK ((state = 'ACTIVE') = (ended_ms IS NULL))
) STRICT;
CREATE INDEX sweep_by_name ON sweep(name);
CREATE INDEX sweep_by_id_text ON sweep('s-' || id);

-- The unit that is leased, cached and fingerprinted; shared by all trials that need the same one.
CREATE TABLE stage (
  id INTEGER PRIMARY KEY,                              -- Shown as st-<id>.
  kind TEXT NOT NULL CHECK (kind IN ('TRAIN_STAGE', 'EVALUATE_STAGE')),  -- A value of StageKind.
  fingerprint TEXT NOT NULL UNIQUE,                    -- SHA-256 of what decides its result.
  train_stage INTEGER REFERENCES stage(id),            -- EVALUATE_STAGE: the stage whose checkpoint it needs.
  state TEXT NOT NULL DEFAULT 'PENDING'                -- A value of TrialState.
    CHECK (state = 'PENDING' OR state = 'RUNNING' OR state = 'SUCCEEDED' OR state = 'DIVERGED' OR state = 'FAILED' OR state = 'CANCELLED'),
  crashes INTEGER NOT NULL DEFAULT 0,                  -- Attempts that crashed, stalled or timed out, since the last retry by a person.
  out_of_memory INTEGER NOT NULL DEFAULT 0,            -- Attempts that ran out of memory.
  losses INTEGER NOT NULL DEFAULT 0,                   -- Attempts lost with their worker or preempted.
  invalid INTEGER NOT NULL DEFAULT 0,                  -- Attempts that can never run.
  result_token INTEGER REFERENCES attempt(token),      -- The attempt that produced the result.
  checkpoint TEXT,                                     -- TRAIN_STAGE: SHA-256 of the trained model.
  message TEXT NOT NULL DEFAULT '',                    -- Why it failed.
  CHECK (kind = 'EVALUATE_STAGE' OR train_stage IS NULL),
  CHECK (state IN ('SUCCEEDED', 'DIVERGED') OR result_token IS NULL),
  CHECK (state <> 'SUCCEEDED' OR result_token IS NOT NULL),
  CHECK (kind <> 'TRAIN_STAGE' OR state <> 'SUCCEEDED' OR checkpoint IS NOT NULL)
) STRICT;

-- What a stage runs. Apart from its state, so that a change of state writes little.
CREATE TABLE stage_spec (
  stage INTEGER PRIMARY KEY REFERENCES stage(id),      -- Whose.
  spec TEXT NOT NULL CHECK (json_valid(spec))          -- Resolved TrialSpec.
) STRICT;

-- One point of a sweep with one seed.
CREATE TABLE trial (
  id INTEGER PRIMARY KEY,                              -- Shown as t-<id>.
  sweep INTEGER NOT NULL REFERENCES sweep(id),         -- Whose point.
  point INTEGER NOT NULL,                              -- Index in the sweep's grid.
  train_stage INTEGER REFERENCES stage(id),            -- Its training.
  evaluate_stage INTEGER REFERENCES stage(id),         -- Its evaluation.
  state TEXT NOT NULL DEFAULT 'PENDING'                -- A value of TrialState.
    CHECK (state = 'PENDING' OR state = 'RUNNING' OR state = 'SUCCEEDED' OR state = 'DIVERGED' OR state = 'FAILED' OR state = 'CANCELLED'),
  message TEXT NOT NULL DEFAULT '',                    -- Why it failed.
  UNIQUE (sweep, point)
) STRICT;
CREATE INDEX trial_by_state ON trial(sweep, state);
CREATE INDEX trial_by_id_text ON trial('t-' || id);

-- What defines a trial. Apart from its state, so that a change of state writes little.
CREATE TABLE trial_spec (
  trial INTEGER PRIMARY KEY REFERENCES trial(id),      -- Whose.
  labels TEXT NOT NULL CHECK (json_valid(labels)),     -- Axis name -> label.
  spec TEXT NOT NULL CHECK (json_valid(spec))          -- Resolved TrialSpec, defaults written.
) STRICT;

-- One execution of a stage by one worker.
CREATE TABLE attempt (
  token INTEGER PRIMARY KEY CHECK (token > 0),         -- Fencing number; grows for the life of the database.
  stage INTEGER NOT NULL REFERENCES stage(id),         -- What it executes.
  number INTEGER NOT NULL CHECK (number > 0),          -- 1 for the first attempt of the stage.
  worker TEXT NOT NULL,                                -- The worker's incarnation.
  slot INTEGER NOT NULL,                               -- Place on the worker.
  resume_step INTEGER NOT NULL DEFAULT 0,              -- Step of the checkpoint it was told to go on from; 0 from scratch.
  started_ms INTEGER NOT NULL,                         -- When it was leased.
  ended_ms INTEGER,                                    -- When its end was committed; NULL while it is live.
  outcome TEXT CHECK (outcome = 'SUCCEEDED' OR outcome = 'DIVERGED' OR outcome = 'FAILED' OR outcome = 'CANCELLED'),  -- How it ended.
  failure TEXT CHECK (failure IS NULL                  -- A value of FailureClass, with FAILED.
    OR failure = 'INVALID_SPEC' OR failure = 'OUT_OF_MEMORY' OR failure = 'CRASHED' OR failure = 'TIMED_OUT' OR failure = 'LOST'
    OR failure = 'PREEMPTED' OR failure = 'STALLED'),
  message TEXT NOT NULL DEFAULT '',                    -- For people.
  visible_until INTEGER,                               -- Measurements after this step were overwritten by a later attempt that went on from there; NULL: none were.
  pid INTEGER,                                         -- Process of the child. From here on: as the child reported.
  build TEXT,                                          -- inlier's version, git commit and "-dirty".
  torch_version TEXT,                                  -- LibTorch.
  cuda_version TEXT,                                   -- Empty on the CPU.
  device TEXT,                                         -- For example "cpu" or "NVIDIA H100".
  threads INTEGER,                                     -- CPU threads.
  host TEXT,                                           -- Machine.
  resumed_step INTEGER,                                -- Step it really went on from.
  dataset_digest TEXT,                                 -- SHA-256 of the data.
  parameters INTEGER,                                  -- Trainable parameters.
  CHECK ((ended_ms IS NULL) = (outcome IS NULL)),
  CHECK (failure IS NULL OR outcome = 'FAILED')
) STRICT;
CREATE INDEX attempt_by_stage ON attempt(stage);
CREATE UNIQUE INDEX attempt_one_live ON attempt(stage) WHERE ended_ms IS NULL;
CREATE UNIQUE INDEX attempt_one_result ON attempt(stage) WHERE outcome IN ('SUCCEEDED', 'DIVERGED');

-- A number at a step. Append-only.
CREATE TABLE measurement (
  id INTEGER PRIMARY KEY,                              -- In the order of arrival.
  token INTEGER NOT NULL REFERENCES attempt(token),    -- The attempt that measured it.
  name TEXT NOT NULL,                                  -- Of docs/reference/measurements.md.
  step INTEGER NOT NULL,                               -- Updates done when it was taken.
  value REAL,                                          -- NULL: not a number.
  site TEXT NOT NULL,                                  -- Module path; empty: of the whole model.
  final INTEGER NOT NULL CHECK (final IN (0, 1)),      -- 1: a result of the stage; 0: a point of a curve.
  at_ms INTEGER NOT NULL                               -- When, by the child's clock.
) STRICT;
CREATE INDEX measurement_by_token ON measurement(token);
CREATE INDEX measurement_result ON measurement(token, name) WHERE final = 1;

-- A file set named by its digest: checkpoints.
CREATE TABLE artifact (
  id INTEGER PRIMARY KEY,                              -- In the order of arrival.
  token INTEGER NOT NULL REFERENCES attempt(token),    -- The attempt that wrote it.
  kind TEXT NOT NULL CHECK (kind IN ('CHECKPOINT')),   -- What it is.
  step INTEGER NOT NULL,                               -- Updates done.
  path TEXT NOT NULL,                                  -- Relative to the state folder.
  sha256 TEXT NOT NULL,                                -- Digest.
  bytes INTEGER NOT NULL,                              -- Size.
  final INTEGER NOT NULL CHECK (final IN (0, 1)),      -- 1: the trained model; 0: to resume from.
  at_ms INTEGER NOT NULL                               -- When.
) STRICT;
CREATE INDEX artifact_by_token ON artifact(token);

-- A line an attempt wrote.
CREATE TABLE log (
  id INTEGER PRIMARY KEY,                              -- In the order of arrival.
  token INTEGER NOT NULL REFERENCES attempt(token),    -- Whose.
  at_ms INTEGER NOT NULL,                              -- When.
  text TEXT NOT NULL                                   -- The line.
) STRICT;
CREATE INDEX log_by_token ON log(token);

-- State changes and notices. Columns are NULL where the event is not about one.
CREATE TABLE event (
  id INTEGER PRIMARY KEY,                              -- In the order of arrival.
  at_ms INTEGER NOT NULL,                              -- When.
  kind TEXT NOT NULL,                                  -- For example "stage_retried".
  sweep INTEGER,                                       -- Sweep.
  trial INTEGER,                                       -- Trial.
  stage INTEGER,                                       -- Stage.
  token INTEGER,                                       -- Attempt.
  worker TEXT,                                         -- The worker's incarnation.
  message TEXT NOT NULL                                -- For people.
) STRICT;

-- A worker process.
CREATE TABLE worker (
  incarnation TEXT PRIMARY KEY,                        -- Fresh uuid of the process.
  name TEXT NOT NULL,                                  -- Label.
  host TEXT NOT NULL,                                  -- Machine.
  version TEXT NOT NULL,                               -- Of the program.
  slots INTEGER NOT NULL,                              -- Places to run.
  devices TEXT NOT NULL CHECK (json_valid(devices)),   -- A list, one for each slot.
  draining INTEGER NOT NULL CHECK (draining IN (0, 1)),    -- 1: wants nothing new.
  connected INTEGER NOT NULL CHECK (connected IN (0, 1)),  -- 1: its lease had not run out.
  last_seen_ms INTEGER NOT NULL,                       -- Of its latest stored sync.
  acknowledged_sequence INTEGER NOT NULL DEFAULT 0     -- Its events up to here are stored.
) STRICT;

-- Facts about the database itself.
CREATE TABLE meta (
  key TEXT PRIMARY KEY,                                -- next_token.
  value INTEGER NOT NULL                               -- Its value.
) STRICT;
INSERT INTO meta VALUES ('next_token', 1);

-- Tokens only grow, even if attempts were ever deleted.
CREATE TRIGGER attempt_token_grows BEFORE INSERT ON attempt
WHEN NEW.token <= (SELECT coalesce(max(token), 0) FROM attempt)
  OR NEW.token < (SELECT value FROM meta WHERE key = 'next_token')
BEGIN
  SELECT RAISE(ABORT, 'attempt: the token is not above all earlier ones');
END;

-- Nothing that has its result runs again, and no evaluation starts before its checkpoint is committed.
CREATE TRIGGER attempt_may_start BEFORE INSERT ON attempt
BEGIN
  SELECT RAISE(ABORT, 'attempt: the stage already has its result')
  FROM stage WHERE id = NEW.stage AND state IN ('SUCCEEDED', 'DIVERGED');
  SELECT RAISE(ABORT, 'attempt: the checkpoint of the train stage is not committed')
  FROM stage JOIN stage train ON train.id = stage.train_stage
  WHERE stage.id = NEW.stage AND train.checkpoint IS NULL;
END;

-- An attempt ends once.
CREATE TRIGGER attempt_ends_once BEFORE UPDATE OF ended_ms, outcome ON attempt
WHEN OLD.ended_ms IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'attempt: it has already ended');
END;

-- Results never change; a FAILED or CANCELLED stage changes only by being retried.
CREATE TRIGGER stage_state_is_final BEFORE UPDATE OF state ON stage
WHEN (OLD.state = 'SUCCEEDED' OR OLD.state = 'DIVERGED' OR OLD.state = 'FAILED' OR OLD.state = 'CANCELLED') AND NEW.state <> OLD.state
  AND NOT (OLD.state IN ('FAILED', 'CANCELLED') AND NEW.state = 'PENDING')
BEGIN
  SELECT RAISE(ABORT, 'stage: a terminal state never changes');
END;
CREATE TRIGGER stage_result_is_final BEFORE UPDATE OF result_token, checkpoint ON stage
WHEN OLD.result_token IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'stage: a result never changes');
END;

-- The same for trials; and a trial succeeds only with all its stages.
CREATE TRIGGER trial_state_is_final BEFORE UPDATE OF state ON trial
WHEN (OLD.state = 'SUCCEEDED' OR OLD.state = 'DIVERGED' OR OLD.state = 'FAILED' OR OLD.state = 'CANCELLED') AND NEW.state <> OLD.state
  AND NOT (OLD.state IN ('FAILED', 'CANCELLED') AND NEW.state = 'PENDING')
BEGIN
  SELECT RAISE(ABORT, 'trial: a terminal state never changes');
END;
CREATE TRIGGER trial_succeeds_by_its_stages BEFORE UPDATE OF state ON trial
WHEN NEW.state = 'SUCCEEDED'
BEGIN
  SELECT RAISE(ABORT, 'trial: SUCCEEDED although a stage has not succeeded')
  FROM stage WHERE id IN (NEW.train_stage, NEW.evaluate_stage) AND state <> 'SUCCEEDED';
END;
CREATE TRIGGER trial_starts_by_its_stages BEFORE INSERT ON trial
WHEN NEW.state = 'SUCCEEDED'
BEGIN
  SELECT RAISE(ABORT, 'trial: SUCCEEDED although a stage has not succeeded')
  FROM stage WHERE id IN (NEW.train_stage, NEW.evaluate_stage) AND state <> 'SUCCEEDED';
END;

-- Measurements are append-only.
CREATE TRIGGER measurement_is_kept BEFORE UPDATE ON measurement
BEGIN
  SELECT RAISE(ABORT, 'measurement: rows never change');
END;
CREATE TRIGGER measurement_stays BEFORE DELETE ON measurement
BEGIN
  SELECT RAISE(ABORT, 'measurement: rows are never deleted');
END;
