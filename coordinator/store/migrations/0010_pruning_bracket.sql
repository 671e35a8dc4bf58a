ALTER TABLE pruning_decision ADD COLUMN bracket INTEGER NOT NULL DEFAULT 1 CHECK (bracket >= 1); -- Of asha.brackets: trainings are compared within one.
