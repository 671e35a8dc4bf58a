-- The sweeps whose numbers are from elsewhere. `imported` of their specification says from where.
CREATE TABLE import (
  sweep INTEGER PRIMARY KEY REFERENCES sweep(id)       -- Its rows of attempt have no worker: each holds the numbers of a run. Its trainings have no model, and zeros for its digest.
) STRICT;
CREATE TRIGGER import_is_kept BEFORE UPDATE ON import
BEGIN
  SELECT RAISE(ROLLBACK, 'import: rows never change');
END;
CREATE TRIGGER import_stays BEFORE DELETE ON import
BEGIN
  SELECT RAISE(ROLLBACK, 'import: rows are never deleted');
END;

-- Nothing of an imported sweep runs.
CREATE TRIGGER imported_never_runs BEFORE INSERT ON attempt
WHEN (NEW.worker = '') <> EXISTS (SELECT 1 FROM import WHERE import.sweep = NEW.sweep)
BEGIN
  SELECT RAISE(ROLLBACK, 'attempt: of an imported sweep, or of no worker');
END;
