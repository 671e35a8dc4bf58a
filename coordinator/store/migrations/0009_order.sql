ALTER TABLE sweep ADD COLUMN archived INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1)); -- 1: lists leave it out.
ALTER TABLE sweep ADD COLUMN tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)); -- A sorted JSON list of texts.
ALTER TABLE sweep ADD COLUMN note TEXT NOT NULL DEFAULT ''; -- Markdown.
ALTER TABLE sweep ADD COLUMN removed_ms INTEGER; -- When it was removed; NULL: it is not.
ALTER TABLE sweep ADD COLUMN freed INTEGER NOT NULL DEFAULT 0 CHECK (freed = 0 OR removed_ms IS NOT NULL AND freed = 1); -- 1: what only it needed is gone for good.
ALTER TABLE stage ADD COLUMN fate TEXT NOT NULL DEFAULT 'WHOLE' CHECK (fate = 'WHOLE' OR fate = 'NO_MODEL' OR fate = 'FREED' OR fate = 'EMPTY'); -- NO_MODEL: a rule of inlier gc let its model go. FREED: only sweeps that are gone needed it. EMPTY: its measurements and log lines are deleted, too.
CREATE INDEX stage_gone ON stage(id) WHERE fate <> 'WHOLE';

-- What is gone stays gone.
CREATE TRIGGER stage_fate_is_final BEFORE UPDATE OF fate ON stage
WHEN OLD.fate = 'EMPTY' AND NEW.fate <> 'EMPTY' OR OLD.fate = 'FREED' AND NEW.fate <> 'FREED' AND NEW.fate <> 'EMPTY' OR NEW.fate = 'WHOLE' AND OLD.fate <> 'WHOLE'
BEGIN
  SELECT RAISE(ROLLBACK, 'stage: what was freed does not come back');
END;
CREATE TRIGGER stage_is_freed_after_its_end BEFORE UPDATE OF fate ON stage
WHEN NEW.fate <> 'WHOLE' AND NEW.state = 'PENDING'
BEGIN
  SELECT RAISE(ROLLBACK, 'stage: freed before it has ended');
END;

-- Measurements are deleted of freed stages alone.
DROP TRIGGER measurement_stays;
CREATE TRIGGER measurement_stays BEFORE DELETE ON measurement
WHEN coalesce((SELECT stage.fate FROM attempt JOIN stage ON stage.id = attempt.stage WHERE attempt.token = OLD.token), '') NOT IN ('FREED', 'EMPTY')
BEGIN
  SELECT RAISE(ROLLBACK, 'measurement: rows are deleted of freed stages alone');
END;
