-- What a coordinator with many trials needs to start quickly.

ALTER TABLE trial_spec ADD COLUMN packed BLOB; -- `spec` as the coordinator reads it: a serialised TrialSpec; NULL: written before this was kept.
