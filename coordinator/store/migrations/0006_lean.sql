-- Fewer rows and pages for each trial, without a rule less: what is written once a trial decides how many trials a second there can be.
-- RUNNING is no longer stored: a stage runs while it has a live attempt, and a trial while one of its stages does. Specifications are stored
-- in groups, since the trials of a sweep share most of them. The fingerprints' index is gone, a page a trial: the coordinator holds all of
-- them, and is the only one who writes; `inlier doctor` looks for two that are equal.

-- Views and triggers that name what is made anew; the program makes the views again.
DROP VIEW IF EXISTS sweeps;
DROP VIEW IF EXISTS trials;
DROP VIEW IF EXISTS results;
DROP VIEW IF EXISTS curves;
DROP VIEW IF EXISTS attempts;
DROP VIEW IF EXISTS failures;
DROP VIEW IF EXISTS logs;
DROP VIEW IF EXISTS events;
DROP VIEW IF EXISTS workers;
DROP VIEW IF EXISTS pruning_decisions;
DROP TRIGGER attempt_token_grows;
DROP TRIGGER attempt_may_start;
DROP TRIGGER trial_succeeds_by_its_stages;
DROP TRIGGER trial_starts_by_its_stages;
DROP INDEX trial_by_state;

-- A group of a resolved TrialSpec, such as its model, for all trials that have it alike. Two rows may say the same.
CREATE TABLE spec_part (
  id INTEGER PRIMARY KEY,                              -- In the order of arrival.
  json TEXT NOT NULL                                   -- The group.
) STRICT;
INSERT INTO spec_part (json)
  SELECT DISTINCT value FROM trial_spec, json_each(trial_spec.spec)
  WHERE type = 'object' AND key IN ('model', 'attention', 'data', 'training', 'quantization', 'evaluation');
CREATE INDEX spec_part_json ON spec_part(json);

ALTER TABLE trial_spec RENAME TO whole_trial_spec;
CREATE TABLE trial_spec (
  trial INTEGER PRIMARY KEY REFERENCES trial(id),      -- Whose.
  labels TEXT NOT NULL,                                -- Axis name -> label.
  spec TEXT NOT NULL,                                  -- Resolved TrialSpec, defaults written, without the groups below. JSON as the next ones.
  model INTEGER,                                       -- The spec_part with this group; NULL: there is none. So are the next ones.
  attention INTEGER,                                   -- Attention.
  data INTEGER,                                        -- Data.
  training INTEGER,                                    -- Training.
  quantization INTEGER,                                -- Quantization.
  evaluation INTEGER,                                  -- Evaluation.
  packed BLOB                                          -- `spec` as the coordinator reads it when it starts: a serialised TrialSpec; NULL: written before this was kept.
) STRICT;
INSERT INTO trial_spec
  SELECT trial, labels,
    json_remove(spec, '$.model', '$.attention', '$.data', '$.training', '$.quantization', '$.evaluation'),
    (SELECT min(id) FROM spec_part WHERE json = spec->'$.model'),
    (SELECT min(id) FROM spec_part WHERE json = spec->'$.attention'),
    (SELECT min(id) FROM spec_part WHERE json = spec->'$.data'),
    (SELECT min(id) FROM spec_part WHERE json = spec->'$.training'),
    (SELECT min(id) FROM spec_part WHERE json = spec->'$.quantization'),
    (SELECT min(id) FROM spec_part WHERE json = spec->'$.evaluation'),
    NULL
  FROM whole_trial_spec;
DROP TABLE whole_trial_spec;
DROP INDEX spec_part_json;

CREATE TABLE lean_stage (
  id INTEGER PRIMARY KEY,                              -- Shown as st-<id>.
  kind TEXT NOT NULL CHECK (kind = 'TRAIN_STAGE' OR kind = 'EVALUATE_STAGE'),  -- A value of StageKind.
  fingerprint TEXT NOT NULL,                           -- SHA-256 of what decides its result; unique.
  train_stage INTEGER REFERENCES stage(id),            -- EVALUATE_STAGE: the stage whose checkpoint it needs.
  state TEXT NOT NULL DEFAULT 'PENDING'                -- A value of TrialState; PENDING while it runs, too.
    CHECK (state = 'PENDING' OR state = 'SUCCEEDED' OR state = 'DIVERGED' OR state = 'FAILED' OR state = 'CANCELLED'),
  crashes INTEGER NOT NULL DEFAULT 0,                  -- Attempts that crashed, stalled or timed out, since the last retry by a person.
  out_of_memory INTEGER NOT NULL DEFAULT 0,            -- Attempts that ran out of memory.
  losses INTEGER NOT NULL DEFAULT 0,                   -- Attempts lost with their worker or preempted.
  invalid INTEGER NOT NULL DEFAULT 0,                  -- Attempts that can never run.
  result_token INTEGER REFERENCES attempt(token),      -- The attempt that produced the result.
  checkpoint TEXT,                                     -- TRAIN_STAGE: SHA-256 of the trained model.
  message TEXT NOT NULL DEFAULT '',                    -- Why it failed.
  spec_trial INTEGER,                                  -- The trial whose specification it runs; NULL: it is in stage_spec.
  memory_mib INTEGER NOT NULL DEFAULT 0 CHECK (memory_mib >= 0),          -- MiB that its next attempts need at least, since one ran out of memory; 0: what its sweep says.
  gpu_memory_mib INTEGER NOT NULL DEFAULT 0 CHECK (gpu_memory_mib >= 0),  -- The same of a GPU.
  CHECK (kind = 'EVALUATE_STAGE' OR train_stage IS NULL),
  CHECK (result_token IS NULL OR state = 'SUCCEEDED' OR state = 'DIVERGED'),
  CHECK (state <> 'SUCCEEDED' OR result_token IS NOT NULL),
  CHECK (kind <> 'TRAIN_STAGE' OR state <> 'SUCCEEDED' OR checkpoint IS NOT NULL)
) STRICT;
INSERT INTO lean_stage
  SELECT id, kind, fingerprint, train_stage, iif(state = 'RUNNING', 'PENDING', state), crashes, out_of_memory, losses, invalid, result_token,
    checkpoint, message, spec_trial, memory_mib, gpu_memory_mib
  FROM stage;
DROP TABLE stage;
ALTER TABLE lean_stage RENAME TO stage;

UPDATE trial SET state = 'PENDING' WHERE state = 'RUNNING';
CREATE INDEX trial_failed ON trial(sweep) WHERE state = 'FAILED';

-- Tokens only grow, even if attempts were ever deleted. Within a transaction they are told apart by their key.
CREATE TRIGGER attempt_token_grows BEFORE INSERT ON attempt
WHEN NEW.token < (SELECT value FROM meta WHERE key = 'next_token')
BEGIN
  SELECT RAISE(ABORT, 'attempt: the token is not above all earlier ones');
END;

-- Nothing that has ended runs again, and no evaluation starts before its checkpoint is committed.
CREATE TRIGGER attempt_may_start BEFORE INSERT ON attempt
BEGIN
  SELECT CASE
    WHEN state = 'SUCCEEDED' OR state = 'DIVERGED' THEN RAISE(ABORT, 'attempt: the stage already has its result')
    WHEN state <> 'PENDING' THEN RAISE(ABORT, 'attempt: the stage has ended, and a terminal state never changes')
    WHEN train_stage IS NOT NULL AND (SELECT checkpoint FROM stage AS train WHERE train.id = stage.train_stage) IS NULL
      THEN RAISE(ABORT, 'attempt: the checkpoint of the train stage is not committed')
  END
  FROM stage WHERE id = NEW.stage;
END;

-- Results never change; a FAILED or CANCELLED stage changes only by being retried.
CREATE TRIGGER stage_state_is_final BEFORE UPDATE OF state ON stage
WHEN OLD.state <> 'PENDING' AND NEW.state <> OLD.state
  AND (NEW.state <> 'PENDING' OR OLD.state = 'SUCCEEDED' OR OLD.state = 'DIVERGED')
BEGIN
  SELECT RAISE(ABORT, 'stage: a terminal state never changes');
END;
CREATE TRIGGER stage_result_is_final BEFORE UPDATE OF result_token, checkpoint ON stage
WHEN OLD.result_token IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'stage: a result never changes');
END;

-- A trial succeeds only with all its stages: an evaluation that has succeeded had its training's checkpoint.
CREATE TRIGGER trial_succeeds_by_its_stages BEFORE UPDATE OF state ON trial
WHEN NEW.state = 'SUCCEEDED' AND (SELECT state FROM stage WHERE id = NEW.evaluate_stage) IS NOT 'SUCCEEDED'
BEGIN
  SELECT RAISE(ABORT, 'trial: SUCCEEDED although a stage has not succeeded');
END;
CREATE TRIGGER trial_starts_by_its_stages BEFORE INSERT ON trial
WHEN NEW.state = 'SUCCEEDED' AND (SELECT state FROM stage WHERE id = NEW.evaluate_stage) IS NOT 'SUCCEEDED'
BEGIN
  SELECT RAISE(ABORT, 'trial: SUCCEEDED although a stage has not succeeded');
END;
