-- How long a training is, beside its stage: a start weighs what has ended without looking for its specification or its last checkpoint.
ALTER TABLE stage ADD COLUMN steps INTEGER NOT NULL DEFAULT 0; -- Updates of the training that it is or that it evaluates; 0: it counts epochs, or was made before this was kept and has none.
UPDATE stage SET steps = coalesce((SELECT max(step) FROM artifact WHERE artifact.token = stage.result_token AND final = 1), 0)
  WHERE kind = 'TRAIN_STAGE' AND result_token IS NOT NULL;
UPDATE stage SET steps = (SELECT steps FROM stage AS train WHERE train.id = stage.train_stage)
  WHERE kind = 'EVALUATE_STAGE' AND result_token IS NOT NULL;
