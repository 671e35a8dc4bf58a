-- Pruning: what was decided about each training at each rung, and which trials it ended.

-- A judgement of a training at a rung. Append-only; the rows in order, with the sweep's `pruning`, give every verdict again.
CREATE TABLE pruning_decision (
  id INTEGER PRIMARY KEY,                              -- In the order of the decisions.
  sweep INTEGER NOT NULL REFERENCES sweep(id),         -- Whose rule decided.
  stage INTEGER NOT NULL REFERENCES stage(id),         -- The training.
  token INTEGER NOT NULL REFERENCES attempt(token),    -- The attempt that measured the value.
  rung INTEGER NOT NULL CHECK (rung > 0),              -- Step from which on the sweep's trainings are compared here.
  step INTEGER NOT NULL CHECK (step >= rung),          -- Step of the value: the first point at or after the rung.
  value REAL,                                          -- What was compared; NULL: not a number.
  verdict TEXT NOT NULL CHECK (verdict IN ('CONTINUE', 'PRUNE')),  -- What the rule says.
  others INTEGER NOT NULL CHECK (others >= 0),         -- Values that were there at this rung before.
  threshold REAL,                                      -- A worse value is pruned; NULL: there was none, or not a number.
  at_ms INTEGER NOT NULL,                              -- When.
  UNIQUE (sweep, rung, stage)
) STRICT;

-- Trials that pruning ended, and those that a person then asked for all the same. CANCELLED trials without a row were cancelled by a person.
CREATE TABLE trial_pruning (
  trial INTEGER PRIMARY KEY REFERENCES trial(id),      -- Which.
  state TEXT NOT NULL CHECK (state IN ('PRUNED', 'KEPT'))  -- KEPT: tried again by a person, and not pruned any more.
) STRICT;

-- Decisions are append-only.
CREATE TRIGGER pruning_decision_is_kept BEFORE UPDATE ON pruning_decision
BEGIN
  SELECT RAISE(ABORT, 'pruning_decision: rows never change');
END;
CREATE TRIGGER pruning_decision_stays BEFORE DELETE ON pruning_decision
BEGIN
  SELECT RAISE(ABORT, 'pruning_decision: rows are never deleted');
END;
