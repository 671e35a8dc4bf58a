-- Tables are internal and named in the singular; people query the views (param_view.cc), which are plural. The text after "--" on the line of
-- a column is its description in docs/reference/schema.md. Times are milliseconds since 1970 UTC.
--
-- Rules compare with OR instead of IN: SQLite makes a table for a list of three or more at each use. A broken rule ends the whole transaction
-- (RAISE(ROLLBACK)), and references of the tables that grow with trials are checked at COMMIT: SQLite then need not be able to undo one statement
-- alone, for which it copies every page that the statement touches.

-- An ablation as submitted.
CREATE TABLE sweep (
  id INTEGER PRIMARY KEY,                              -- Shown as s-<id>.
  name TEXT NOT NULL,                                  -- Several sweeps may share one.
  spec TEXT NOT NULL CHECK (json_valid(spec)),         -- SweepSpec.
  state TEXT NOT NULL DEFAULT 'ACTIVE'                 -- A value of SweepState.
    CHECK (state = 'ACTIVE' OR state = 'COMPLETE' OR state = 'SWEEP_CANCELLED' OR state = 'STOPPED_BY_FAILURES'
      OR state = 'STOPPED_BY_TIME' OR state = 'STOPPED_BY_BUDGET'),
  points INTEGER NOT NULL CHECK (points >= 0),         -- Size of the grid.
  trials INTEGER NOT NULL CHECK (trials >= 0),         -- Points that are not left out.
  trials_at_submit INTEGER NOT NULL DEFAULT 0,         -- Trials in the answer to the submission, which is repeated when the request is.
  trials_known INTEGER NOT NULL DEFAULT 0,             -- Trials that had their result when it was submitted.
  next_point INTEGER NOT NULL DEFAULT 0,               -- Points before it have been expanded into trials.
  request_id TEXT UNIQUE,                              -- The client's name for the submission.
  request_digest TEXT NOT NULL DEFAULT '',             -- Of the submission's content.
  paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),      -- 1: no attempt of it is started.
  again INTEGER NOT NULL DEFAULT 0 CHECK (again IN (0, 1)),        -- 1: it runs once more what has a result.
  revision INTEGER NOT NULL DEFAULT 1 CHECK (revision > 0),        -- 1 as submitted; grows with each edit.
  owner TEXT NOT NULL DEFAULT '',                      -- Name of the caller that submitted it; empty: callers were not checked.
  submitted_ms INTEGER NOT NULL,                       -- When.
  ended_ms INTEGER,                                    -- When its last trial ended; NULL while ACTIVE.
  CHECK ((state = 'ACTIVE') = (ended_ms IS NULL))
) STRICT;
CREATE INDEX sweep_by_name ON sweep(name);
CREATE INDEX sweep_by_id_text ON sweep('s-' || id);

-- Time of a sweep's attempts together. Apart from the sweep, whose row may be large: it is written at each end of an attempt.
CREATE TABLE sweep_usage (
  sweep INTEGER PRIMARY KEY REFERENCES sweep(id) DEFERRABLE INITIALLY DEFERRED,  -- Its sweep.
  attempt_ms INTEGER NOT NULL CHECK (attempt_ms >= 0),          -- Milliseconds of the attempts at stages that it needed, while it did; one that several sweeps need counts in each.
  gpu_ms INTEGER NOT NULL CHECK (gpu_ms >= 0),                  -- The same, multiplied by the share of a GPU that each has.
  charged_gpu_ms INTEGER NOT NULL CHECK (charged_gpu_ms >= 0),  -- GPU time of the ended attempts that are charged to it: for the budget of its owner.
  at_ms INTEGER NOT NULL                                        -- Up to when.
) STRICT;

-- Files that trainings read: as specifications name them, and, in a row for each digest, as workers found them.
CREATE TABLE data (
  id INTEGER PRIMARY KEY,                              -- Shown as d-<id>.
  names TEXT NOT NULL CHECK (json_valid(names)),       -- The fields of TrialSpec that name files, JSON.
  digest TEXT,                                         -- SHA-256 of the files' content; NULL: not known.
  worker TEXT NOT NULL,                                -- Name of the worker that found it so last; empty: not known.
  at_ms INTEGER NOT NULL,                              -- When.
  UNIQUE (names, digest)
) STRICT;

-- The unit that is leased, cached and fingerprinted; shared by all trials that need the same one. No index on the fingerprints: the coordinator,
-- the only writer, has them in memory, and `inlier doctor` looks for two that are equal.
CREATE TABLE stage (
  id INTEGER PRIMARY KEY,                              -- Shown as st-<id>.
  kind TEXT NOT NULL CHECK (kind = 'TRAIN_STAGE' OR kind = 'EVALUATE_STAGE'),  -- A value of StageKind.
  fingerprint BLOB NOT NULL,                           -- SHA-256 of what decides its result, 32 bytes; unique. Of a stage that runs what another has run, on other data or once more: of that and its number.
  train_stage INTEGER REFERENCES stage(id) DEFERRABLE INITIALLY DEFERRED,      -- EVALUATE_STAGE: the stage whose checkpoint it needs.
  start_stage INTEGER REFERENCES stage(id) DEFERRABLE INITIALLY DEFERRED,      -- TRAIN_STAGE: the training that it starts from; NULL: none of this coordinator.
  state TEXT NOT NULL DEFAULT 'PENDING'                -- A value of TrialState; PENDING also while an attempt of it is live.
    CHECK (state = 'PENDING' OR state = 'SUCCEEDED' OR state = 'DIVERGED' OR state = 'FAILED' OR state = 'CANCELLED'),
  crashes INTEGER NOT NULL DEFAULT 0,                  -- Attempts that crashed, stalled or timed out, since the last retry by a person.
  out_of_memory INTEGER NOT NULL DEFAULT 0,            -- Attempts that ran out of memory.
  losses INTEGER NOT NULL DEFAULT 0,                   -- Attempts lost with their worker or by a sick device, or preempted.
  invalid INTEGER NOT NULL DEFAULT 0,                  -- Attempts that can never run.
  ran_ms INTEGER NOT NULL DEFAULT 0,                   -- Milliseconds of ended attempts, since the last retry by a person; of a stage without a result. EVALUATE_STAGE: with those of the training, where trial_hours limits both.
  result_token INTEGER REFERENCES attempt(token) DEFERRABLE INITIALLY DEFERRED,  -- The attempt that produced the result.
  checkpoint TEXT,                                     -- TRAIN_STAGE: SHA-256 of the trained model.
  message TEXT NOT NULL DEFAULT '',                    -- Why it failed.
  data INTEGER REFERENCES data(id) DEFERRABLE INITIALLY DEFERRED,              -- TRAIN_STAGE: its data; a row without a digest: not known yet.
  previous INTEGER REFERENCES stage(id) DEFERRABLE INITIALLY DEFERRED,         -- The stage that ran the same before, on other data or by --again; NULL: none did.
  steps INTEGER NOT NULL DEFAULT 0,                    -- Updates of the training, or of the training that it evaluates; 0: it counts epochs.
  memory_mib INTEGER NOT NULL DEFAULT 0 CHECK (memory_mib >= 0),          -- MiB that its next attempts need at least, all processes together, since one ran out of memory; 0: as its sweep specifies.
  gpu_memory_mib INTEGER NOT NULL DEFAULT 0 CHECK (gpu_memory_mib >= 0),  -- The same of a GPU.
  spec TEXT NOT NULL,                                  -- Its part of the resolved TrialSpec, defaults written, JSON. EVALUATE_STAGE: the groups quantization and evaluation; TRAIN_STAGE: everything else. Fields that do not decide the result are as in the first trial that needed the stage.
  CHECK (kind = 'EVALUATE_STAGE' OR train_stage IS NULL),
  CHECK (kind = 'TRAIN_STAGE' OR start_stage IS NULL),
  CHECK (result_token IS NULL OR state = 'SUCCEEDED' OR state = 'DIVERGED'),
  CHECK (state <> 'SUCCEEDED' OR result_token IS NOT NULL),
  CHECK (kind <> 'TRAIN_STAGE' OR state <> 'SUCCEEDED' OR checkpoint IS NOT NULL)
) STRICT;

-- One point of a sweep with one seed.
CREATE TABLE trial (
  id INTEGER PRIMARY KEY,                              -- Shown as t-<id>.
  sweep INTEGER NOT NULL REFERENCES sweep(id) DEFERRABLE INITIALLY DEFERRED,     -- Its sweep.
  point INTEGER NOT NULL,                              -- Index in the sweep's grid; negative: an edit of the sweep took its point away.
  train_stage INTEGER REFERENCES stage(id) DEFERRABLE INITIALLY DEFERRED,        -- Its training; NULL: the trial is invalid.
  evaluate_stage INTEGER REFERENCES stage(id) DEFERRABLE INITIALLY DEFERRED,     -- Its evaluation; NULL: the trial is invalid.
  state TEXT NOT NULL DEFAULT 'PENDING'                -- A value of TrialState; PENDING also while one of its stages runs.
    CHECK (state = 'PENDING' OR state = 'SUCCEEDED' OR state = 'DIVERGED' OR state = 'FAILED' OR state = 'CANCELLED'),
  message TEXT NOT NULL DEFAULT '',                    -- Why it failed.
  labels TEXT NOT NULL,                                -- Axis name -> label, JSON.
  known INTEGER NOT NULL DEFAULT 0 CHECK (known IN (0, 1)),  -- 1: it had its result when it was made, of before or of another sweep.
  spec TEXT,                                           -- TrialSpec of an invalid trial as its sweep gives it, JSON; NULL: its stages have it.
  UNIQUE (sweep, point),
  CHECK ((train_stage IS NULL) = (spec IS NOT NULL))
) STRICT;
CREATE INDEX trial_failed ON trial(sweep) WHERE state = 'FAILED';
CREATE INDEX trial_by_evaluation ON trial(evaluate_stage);
CREATE INDEX trial_by_id_text ON trial('t-' || id);

-- One execution of a stage by one worker.
CREATE TABLE attempt (
  token INTEGER PRIMARY KEY CHECK (token > 0),         -- Fencing number; grows for the life of the database.
  stage INTEGER NOT NULL REFERENCES stage(id) DEFERRABLE INITIALLY DEFERRED,     -- The stage that it executes.
  number INTEGER NOT NULL CHECK (number > 0),          -- 1 for the first attempt of the stage.
  sweep INTEGER NOT NULL REFERENCES sweep(id) DEFERRABLE INITIALLY DEFERRED,     -- Sweep whose share and max_parallel it counts for.
  worker TEXT NOT NULL,                                -- The worker's incarnation.
  slot INTEGER NOT NULL,                               -- Place on the worker; of several processes, that of the first.
  further_slots TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(further_slots)),  -- A list: the places of its other processes.
  resume_step INTEGER NOT NULL DEFAULT 0,              -- Step of the checkpoint it was asked to resume from; 0 from scratch.
  started_ms INTEGER NOT NULL,                         -- When it was leased.
  ended_ms INTEGER,                                    -- When its end was committed; NULL while it is live.
  outcome TEXT CHECK (outcome = 'SUCCEEDED' OR outcome = 'DIVERGED' OR outcome = 'FAILED' OR outcome = 'CANCELLED' OR outcome = 'PREEMPTED'),  -- How it ended; PREEMPTED: it was stopped for something else, and its stage resumes.
  failure TEXT CHECK (failure IS NULL                  -- A value of FailureClass, with FAILED and PREEMPTED.
    OR failure = 'INVALID_SPEC' OR failure = 'OUT_OF_MEMORY' OR failure = 'CRASHED' OR failure = 'TIMED_OUT' OR failure = 'LOST'
    OR failure = 'PREEMPTED' OR failure = 'STALLED' OR failure = 'OTHER_DATA' OR failure = 'SICK_DEVICE'),
  message TEXT NOT NULL DEFAULT '',                    -- For people.
  yields TEXT,                                         -- Why it was asked to write a checkpoint and stop; NULL: it was not.
  timed_out INTEGER NOT NULL DEFAULT 0 CHECK (timed_out IN (0, 1)),  -- 1: asked because it had run for its attempt_hours.
  visible_until INTEGER,                               -- Measurements after this step were overwritten by a later attempt that resumed there; NULL: none were.
  gpu_thousandths INTEGER NOT NULL DEFAULT 0 CHECK (gpu_thousandths >= 0 AND gpu_thousandths <= 1000),  -- Share of a GPU that each process asked for; 0: none.
  gpu_share_thousandths INTEGER NOT NULL DEFAULT 0 CHECK (gpu_share_thousandths >= 0 AND gpu_share_thousandths <= 1000 * (1 + json_array_length(further_slots))),  -- Share of a GPU that it has: what it asked for, or its slot's part; of several processes their sum; 0: on a CPU.
  memory_mib INTEGER NOT NULL DEFAULT 0 CHECK (memory_mib >= 0),          -- MiB of the machine that it asked for; 0: not given.
  gpu_memory_mib INTEGER NOT NULL DEFAULT 0 CHECK (gpu_memory_mib >= 0),  -- MiB of a GPU that it asked for; 0: not given.
  peak_memory_mib INTEGER,                             -- Most MiB of the machine that it held, as measured; NULL: not known.
  peak_gpu_memory_mib INTEGER,                         -- The same of its GPU.
  pid INTEGER,                                         -- Process of the child. From here on: as the child reported.
  build TEXT,                                          -- inlier's version, git commit and "-dirty".
  torch_version TEXT,                                  -- LibTorch.
  cuda_version TEXT,                                   -- Empty on the CPU.
  device TEXT,                                         -- For example "cpu" or "NVIDIA H100".
  threads INTEGER,                                     -- CPU threads.
  host TEXT,                                           -- Machine.
  resumed_step INTEGER,                                -- Step it really resumed from.
  dataset_digest TEXT,                                 -- SHA-256 of the files that the specification names.
  parameters INTEGER,                                  -- Trainable parameters.
  CHECK ((ended_ms IS NULL) = (outcome IS NULL)),
  CHECK (failure IS NULL OR outcome = iif(failure = 'PREEMPTED', 'PREEMPTED', 'FAILED'))
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
  kind TEXT NOT NULL CHECK (kind IN ('CHECKPOINT')),   -- Its kind.
  step INTEGER NOT NULL,                               -- Updates done.
  saved_as TEXT CHECK ((saved_as IS NULL) = final),    -- Its path when it is to resume from; NULL: final.
  sha256 TEXT NOT NULL,                                -- Digest.
  bytes INTEGER NOT NULL,                              -- Size.
  final INTEGER NOT NULL CHECK (final IN (0, 1)),      -- 1: the trained model; 0: to resume from.
  at_ms INTEGER NOT NULL,                              -- When.
  path TEXT AS (iif(final, 'artifacts/' || sha256 || '.safetensors', saved_as)) NOT NULL -- In the state folder.
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
  message TEXT NOT NULL,                               -- For people.
  notice INTEGER                                       -- Number among the notices of its sweep, from 1 without a gap; NULL: no notice.
) STRICT;
CREATE UNIQUE INDEX event_notice ON event(sweep, notice) WHERE notice IS NOT NULL;

-- A worker process.
CREATE TABLE worker (
  incarnation TEXT PRIMARY KEY,                        -- Fresh uuid of the process.
  name TEXT NOT NULL,                                  -- Label.
  host TEXT NOT NULL,                                  -- Machine.
  version TEXT NOT NULL,                               -- Of the program.
  slots INTEGER NOT NULL,                              -- Places to run.
  devices TEXT NOT NULL CHECK (json_valid(devices)),   -- A list, one for each slot.
  draining INTEGER NOT NULL CHECK (draining IN (0, 1)),    -- 1: takes no new attempts.
  held INTEGER NOT NULL DEFAULT 0 CHECK (held IN (0, 1)),  -- 1: a person drains it.
  connected INTEGER NOT NULL CHECK (connected IN (0, 1)),  -- 1: its lease had not run out.
  last_seen_ms INTEGER NOT NULL,                       -- Of its latest stored sync.
  used INTEGER NOT NULL DEFAULT 0 CHECK (used IN (0, 1)),  -- 1: it has had an attempt; others are removed some time after they are gone.
  acknowledged_sequence INTEGER NOT NULL DEFAULT 0,    -- Its events up to here are stored.
  memory_mib INTEGER NOT NULL DEFAULT 0 CHECK (memory_mib >= 0),  -- MiB of the machine for all its slots; 0: not known.
  device_memory_mib TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(device_memory_mib))  -- A list, MiB of the device of each slot; 0: not known.
) STRICT;

-- Requests that people gave a request_id, with their answers: the latest 10,000. Submissions are stored with their sweep.
CREATE TABLE request (
  number INTEGER PRIMARY KEY CHECK (number > 0),       -- In the order of arrival.
  id TEXT NOT NULL UNIQUE,                             -- The client's name for the request.
  method TEXT NOT NULL,                                -- For example Cancel.
  digest TEXT NOT NULL,                                -- SHA-256 of the method and the content.
  answer BLOB NOT NULL,                                -- The response, serialised.
  at_ms INTEGER NOT NULL                               -- When.
) STRICT;

-- A judgement of a training at a rung. Append-only; the rows in order, with the sweep's `pruning`, give every verdict again.
CREATE TABLE pruning_decision (
  id INTEGER PRIMARY KEY,                              -- In the order of the decisions.
  sweep INTEGER NOT NULL REFERENCES sweep(id),         -- The sweep whose rule decided.
  stage INTEGER NOT NULL REFERENCES stage(id),         -- The training.
  token INTEGER NOT NULL REFERENCES attempt(token),    -- The attempt that measured the value.
  rung INTEGER NOT NULL CHECK (rung > 0),              -- Step from which on the sweep's trainings are compared here.
  step INTEGER NOT NULL CHECK (step >= rung),          -- Step of the value: the first point at or after the rung.
  value REAL,                                          -- The value that was compared; NULL: not a number.
  verdict TEXT NOT NULL CHECK (verdict IN ('CONTINUE', 'PRUNE')),  -- The rule's verdict.
  others INTEGER NOT NULL CHECK (others >= 0),         -- Values at this rung before this one.
  threshold REAL,                                      -- A worse value is pruned; NULL: there was none, or not a number.
  at_ms INTEGER NOT NULL,                              -- When.
  UNIQUE (sweep, rung, stage)
) STRICT;

-- Trials that pruning ended, and those that a person retried afterwards. CANCELLED trials without a row were cancelled by a person.
CREATE TABLE trial_pruning (
  trial INTEGER PRIMARY KEY REFERENCES trial(id),      -- Which.
  state TEXT NOT NULL CHECK (state IN ('PRUNED', 'KEPT'))  -- KEPT: retried by a person, and not pruned again.
) STRICT;

-- Calls of people that changed something or were to. Append-only. The view is called audit.
CREATE TABLE audit_entry (
  id INTEGER PRIMARY KEY,                              -- In the order of arrival.
  at_ms INTEGER NOT NULL,                              -- When.
  caller TEXT NOT NULL,                                -- Name of the token, or common name of the certificate; empty: callers were not checked, or it showed neither.
  role TEXT NOT NULL,                                  -- Of the token; certificate; empty: as above.
  peer TEXT NOT NULL,                                  -- Address that the call came from.
  method TEXT NOT NULL,                                -- For example Cancel.
  sweep INTEGER,                                       -- Sweep that the request names.
  trial INTEGER,                                       -- Trial that it names.
  worker TEXT,                                         -- Incarnation of the worker that it names.
  outcome TEXT NOT NULL,                               -- OK, or the gRPC code with which it was refused.
  message TEXT NOT NULL,                               -- Why it was refused.
  request TEXT NOT NULL,                               -- Its scalar fields, for people.
  digest TEXT,                                         -- SHA-256 of the request; NULL: it was refused before it was read.
  calls INTEGER NOT NULL CHECK (calls > 0)             -- Refused calls of the caller that the row stands for: itself, and those since its last row that were too many for one each.
) STRICT;

-- What people measured on models of their own.
CREATE TABLE analysis (
  id INTEGER PRIMARY KEY,                              -- Shown as a-<id>.
  model TEXT NOT NULL,                                 -- As the person named it: a folder, or a name of the hub.
  model_sha256 TEXT,                                   -- Of model.safetensors; NULL: not known.
  spec TEXT CHECK (spec IS NULL OR json_valid(spec)),  -- What was asked, AnalysisSpec, JSON.
  owner TEXT NOT NULL,                                 -- Name of the caller; empty: callers were not checked.
  at_ms INTEGER NOT NULL                               -- When it was stored.
) STRICT;
CREATE TABLE analysis_number (
  analysis INTEGER NOT NULL REFERENCES analysis(id),   -- Of which it is a part.
  setting TEXT NOT NULL,                               -- float, W8A8, …
  name TEXT NOT NULL,                                  -- Of docs/reference/measurements.md, hidden_change or sentence_similarity.
  site TEXT NOT NULL,                                  -- Module path; empty: of the whole model.
  value REAL,                                          -- NULL: not a number.
  PRIMARY KEY (analysis, setting, name, site)
) STRICT, WITHOUT ROWID;

CREATE INDEX audit_refused ON audit_entry(id) WHERE outcome <> 'OK';

-- A notification for one receiver (docs/guides/notifications.md): those that wait, and the latest 10,000. The view is called notifications.
CREATE TABLE notification (
  id INTEGER PRIMARY KEY,                              -- In the order of the events.
  at_ms INTEGER NOT NULL,                              -- When.
  event TEXT NOT NULL,                                 -- end, failure or no_worker.
  sweep INTEGER NOT NULL,                              -- Sweep.
  trial INTEGER,                                       -- The first trial that it is about; NULL: the sweep alone.
  hook TEXT NOT NULL,                                  -- Its receiver: the event with a command, or with the host of a URL and a part of the URL's digest.
  body TEXT NOT NULL CHECK (json_valid(body)),         -- As it is sent, JSON.
  state TEXT NOT NULL                                  -- GATHERING: of no row since version 5.
    CHECK (state = 'GATHERING' OR state = 'WAITING' OR state = 'DELIVERED' OR state = 'GIVEN_UP'),
  lasts INTEGER NOT NULL DEFAULT 0 CHECK (lasts IN (0, 1)),  -- 1: the condition that it reports has not ended.
  tries INTEGER NOT NULL DEFAULT 0,                    -- So far.
  refusals INTEGER NOT NULL DEFAULT 0,                 -- Tries that the receiver answered with a refusal.
  next_try_ms INTEGER,                                 -- Earliest time of the next try after one that failed.
  ended_ms INTEGER,                                    -- When it was delivered or given up.
  error TEXT NOT NULL DEFAULT ''                       -- Of the latest try.
) STRICT;
CREATE INDEX notification_waiting ON notification(hook, refusals, id) WHERE state = 'WAITING';
CREATE INDEX notification_ended ON notification(id) WHERE state = 'DELIVERED' OR state = 'GIVEN_UP';
CREATE INDEX notification_lasting ON notification(sweep) WHERE lasts = 1;

-- Facts about the database itself.
CREATE TABLE meta (
  key TEXT PRIMARY KEY,                                -- next_token.
  value INTEGER NOT NULL                               -- Its value.
) STRICT;
INSERT INTO meta VALUES ('next_token', 1);

-- Tokens only grow, even if attempts were ever deleted. Two of one transaction differ by their key.
CREATE TRIGGER attempt_token_grows BEFORE INSERT ON attempt
WHEN NEW.token < (SELECT value FROM meta WHERE key = 'next_token')
BEGIN
  SELECT RAISE(ROLLBACK, 'attempt: the token is not above all earlier ones');
END;

-- A stage that has ended never runs again, and none starts before the checkpoint that it needs is committed.
CREATE TRIGGER attempt_may_start BEFORE INSERT ON attempt
BEGIN
  SELECT CASE
    WHEN state = 'SUCCEEDED' OR state = 'DIVERGED' THEN RAISE(ROLLBACK, 'attempt: the stage already has its result')
    WHEN state <> 'PENDING' THEN RAISE(ROLLBACK, 'attempt: the stage has ended, and a terminal state never changes')
    WHEN train_stage IS NOT NULL AND (SELECT checkpoint FROM stage AS train WHERE train.id = stage.train_stage) IS NULL
      THEN RAISE(ROLLBACK, 'attempt: the checkpoint of the train stage is not committed')
    WHEN start_stage IS NOT NULL AND (SELECT checkpoint FROM stage AS source WHERE source.id = stage.start_stage) IS NULL
      THEN RAISE(ROLLBACK, 'attempt: the checkpoint of the training that it starts from is not committed')
  END
  FROM stage WHERE id = NEW.stage;
END;

-- An attempt ends once.
CREATE TRIGGER attempt_ends_once BEFORE UPDATE OF ended_ms, outcome ON attempt
WHEN OLD.ended_ms IS NOT NULL
BEGIN
  SELECT RAISE(ROLLBACK, 'attempt: it has already ended');
END;

-- Results never change; a FAILED or CANCELLED stage changes only by being retried.
CREATE TRIGGER stage_state_is_final BEFORE UPDATE OF state ON stage
WHEN OLD.state <> 'PENDING' AND NEW.state <> OLD.state
  AND (NEW.state <> 'PENDING' OR OLD.state = 'SUCCEEDED' OR OLD.state = 'DIVERGED')
BEGIN
  SELECT RAISE(ROLLBACK, 'stage: a terminal state never changes');
END;
CREATE TRIGGER stage_result_is_final BEFORE UPDATE OF result_token, checkpoint ON stage
WHEN OLD.result_token IS NOT NULL
BEGIN
  SELECT RAISE(ROLLBACK, 'stage: a result never changes');
END;

-- The same for trials; and a trial succeeds only with all its stages: an evaluation that has succeeded had its training's checkpoint.
CREATE TRIGGER trial_state_is_final BEFORE UPDATE OF state ON trial
WHEN OLD.state <> 'PENDING' AND NEW.state <> OLD.state
  AND (NEW.state <> 'PENDING' OR OLD.state = 'SUCCEEDED' OR OLD.state = 'DIVERGED')
BEGIN
  SELECT RAISE(ROLLBACK, 'trial: a terminal state never changes');
END;
CREATE TRIGGER trial_succeeds_by_its_stages BEFORE UPDATE OF state ON trial
WHEN NEW.state = 'SUCCEEDED' AND (SELECT state FROM stage WHERE id = NEW.evaluate_stage) IS NOT 'SUCCEEDED'
BEGIN
  SELECT RAISE(ROLLBACK, 'trial: SUCCEEDED although a stage has not succeeded');
END;
CREATE TRIGGER trial_starts_by_its_stages BEFORE INSERT ON trial
WHEN NEW.state = 'SUCCEEDED' AND (SELECT state FROM stage WHERE id = NEW.evaluate_stage) IS NOT 'SUCCEEDED'
BEGIN
  SELECT RAISE(ROLLBACK, 'trial: SUCCEEDED although a stage has not succeeded');
END;

-- Measurements are append-only.
CREATE TRIGGER measurement_is_kept BEFORE UPDATE ON measurement
BEGIN
  SELECT RAISE(ROLLBACK, 'measurement: rows never change');
END;
CREATE TRIGGER measurement_stays BEFORE DELETE ON measurement
BEGIN
  SELECT RAISE(ROLLBACK, 'measurement: rows are never deleted');
END;

-- Analyses are append-only.
CREATE TRIGGER analysis_is_kept BEFORE UPDATE ON analysis
BEGIN
  SELECT RAISE(ROLLBACK, 'analysis: rows never change');
END;
CREATE TRIGGER analysis_number_is_kept BEFORE UPDATE ON analysis_number
BEGIN
  SELECT RAISE(ROLLBACK, 'analysis_number: rows never change');
END;

-- The audit is append-only.
CREATE TRIGGER audit_entry_is_kept BEFORE UPDATE ON audit_entry
BEGIN
  SELECT RAISE(ROLLBACK, 'audit_entry: rows never change');
END;
CREATE TRIGGER audit_entry_stays BEFORE DELETE ON audit_entry
BEGIN
  SELECT RAISE(ROLLBACK, 'audit_entry: rows are never deleted');
END;

-- Decisions are append-only.
CREATE TRIGGER pruning_decision_is_kept BEFORE UPDATE ON pruning_decision
BEGIN
  SELECT RAISE(ROLLBACK, 'pruning_decision: rows never change');
END;
CREATE TRIGGER pruning_decision_stays BEFORE DELETE ON pruning_decision
BEGIN
  SELECT RAISE(ROLLBACK, 'pruning_decision: rows are never deleted');
END;
