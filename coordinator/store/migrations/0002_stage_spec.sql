-- What a stage runs is the specification of the trial that made it, which is stored with that trial: it is named, not stored again.
-- stage_spec holds those of stages made before.
ALTER TABLE stage ADD COLUMN spec_trial INTEGER; -- The trial whose specification it runs; NULL: it is in stage_spec.
