// Rules between the rows of the database in every committed state, as SQL that finds violations. Constraints
// and triggers hold most of them, too; this table checks files that were edited, salvaged or restored.
#include "coordinator/store/doctor.h"

namespace inlier {

const std::vector<StoreRule>& StoreRules() {
  static const std::vector<StoreRule> rules = {
      {"one_live_attempt", "a stage has at most one live attempt",
       "SELECT 'st-' || stage || ' has ' || count(*) || ' live attempts' FROM attempt WHERE ended_ms IS NULL "
       "GROUP BY stage HAVING count(*) > 1"},
      {"one_result", "a stage has at most one result",
       "SELECT 'st-' || stage || ' has ' || count(*) || ' results' FROM attempt "
       "WHERE outcome IN ('SUCCEEDED', 'DIVERGED') GROUP BY stage HAVING count(*) > 1"},
      {"result_is_of_its_stage", "a stage's result is an attempt of that stage which ended so",
       "SELECT 'st-' || stage.id || ' names the attempt with token ' || result_token FROM stage "
       "LEFT JOIN attempt ON attempt.token = stage.result_token WHERE result_token IS NOT NULL "
       "AND (attempt.token IS NULL OR attempt.stage <> stage.id OR attempt.outcome IS NOT stage.state)"},
      {"result_is_taken", "the result of an attempt is its stage's",
       "SELECT 'the attempt with token ' || token || ' ended ' || outcome || ', and st-' || stage.id || ' is "
       "' "
       "|| state FROM attempt JOIN stage ON stage.id = attempt.stage "
       "WHERE outcome IN ('SUCCEEDED', 'DIVERGED') AND result_token IS NOT token"},
      {"live_attempt_of_an_open_stage", "a stage with a live attempt has not ended",
       "SELECT 'st-' || stage.id || ' is ' || state || ' with a live attempt' FROM attempt "
       "JOIN stage ON stage.id = attempt.stage WHERE ended_ms IS NULL AND state <> 'PENDING'"},
      {"one_fingerprint", "a fingerprint has one stage",
       "SELECT 'stages ' || group_concat('st-' || id, ', ') || ' have the fingerprint ' || "
       "lower(hex(fingerprint)) FROM stage GROUP BY fingerprint HAVING count(*) > 1"},
      {"data_of_a_result", "a result is of the data that it, or its training, is bound to",
       "SELECT 'st-' || stage.id || ' is bound to the data ' || coalesce(data.digest, 'not known') || "
       "', and its result is of ' || attempt.dataset_digest FROM stage "
       "JOIN attempt ON attempt.token = stage.result_token "
       "JOIN stage AS train ON train.id = coalesce(stage.train_stage, stage.id) "
       "JOIN data ON data.id = coalesce(stage.data, train.data) "
       "WHERE coalesce(attempt.dataset_digest, '') <> '' AND attempt.dataset_digest IS NOT data.digest"},
      {"specification_of_a_stage", "every stage has the part of the specification that it runs",
       "SELECT 'st-' || id || ' has a specification that is not a JSON object' FROM stage "
       "WHERE NOT json_valid(spec) OR json_type(spec) <> 'object'"},
      {"specification_of_a_trial", "a trial without stages has its specification",
       "SELECT 't-' || id || ' lacks its specification' FROM trial "
       "WHERE evaluate_stage IS NULL AND NOT coalesce(json_valid(spec), 0)"},
      {"trained_has_a_checkpoint", "a training that succeeded has its checkpoint recorded",
       "SELECT 'st-' || id || ' has no final artifact ' || coalesce(checkpoint, '') FROM stage "
       "WHERE kind = 'TRAIN_STAGE' AND state = 'SUCCEEDED' AND NOT EXISTS (SELECT 1 FROM artifact WHERE "
       "artifact.token = stage.result_token AND artifact.final = 1 AND artifact.sha256 = stage.checkpoint) "
       "AND (SELECT worker FROM attempt WHERE attempt.token = stage.result_token) <> ''"},
      {"evaluated_after_training", "an evaluation ran only with the checkpoint of its training",
       "SELECT 'st-' || stage.id || ' has attempts, and its training st-' || train.id || ' has no "
       "checkpoint' "
       "FROM stage JOIN stage AS train ON train.id = stage.train_stage WHERE train.checkpoint IS NULL "
       "AND EXISTS (SELECT 1 FROM attempt WHERE attempt.stage = stage.id)"},
      {"trained_after_its_start",
       "a training ran only with the checkpoint of the training that it starts from",
       "SELECT 'st-' || stage.id || ' has attempts, and st-' || source.id || ', which it starts from, has no "
       "checkpoint' FROM stage JOIN stage AS source ON source.id = stage.start_stage "
       "WHERE source.checkpoint IS NULL AND EXISTS (SELECT 1 FROM attempt WHERE attempt.stage = stage.id)"},
      {"success_of_a_trial", "a trial that succeeded has stages that succeeded",
       "SELECT 't-' || trial.id || ' is SUCCEEDED and st-' || stage.id || ' is ' || stage.state FROM trial "
       "JOIN stage ON stage.id IN (trial.train_stage, trial.evaluate_stage) "
       "WHERE trial.state = 'SUCCEEDED' AND stage.state <> 'SUCCEEDED'"},
      {"divergence_of_a_trial", "a trial that diverged has a stage that diverged",
       "SELECT 't-' || id || ' is DIVERGED without a stage that is' FROM trial WHERE state = 'DIVERGED' "
       "AND NOT EXISTS (SELECT 1 FROM stage WHERE stage.id IN (trial.train_stage, trial.evaluate_stage) "
       "AND stage.state = 'DIVERGED')"},
      {"open_trial_has_open_stages", "a trial that has not ended waits for a stage that has not",
       "SELECT 't-' || trial.id || ' is ' || trial.state || ', train ' || train.state || ', evaluate ' || "
       "evaluate.state FROM trial JOIN stage AS train ON train.id = trial.train_stage "
       "JOIN stage AS evaluate ON evaluate.id = trial.evaluate_stage WHERE trial.state = 'PENDING' "
       "AND (evaluate.state <> 'PENDING' OR train.state IN ('FAILED', 'CANCELLED', 'DIVERGED'))",
       nullptr, "cancel and retry the trial: inlier cancel TRIAL; inlier retry TRIAL"},
      {"imported_never_runs", "what has no worker is of an imported sweep, and has ended",
       "SELECT 'the attempt with token ' || token || ' of s-' || attempt.sweep || ' has ' || "
       "iif(worker = '', 'no worker', 'a worker') FROM attempt LEFT JOIN import ON import.sweep = "
       "attempt.sweep "
       "WHERE (worker = '') <> (import.sweep IS NOT NULL) OR worker = '' AND ended_ms IS NULL"},
      {"complete_sweep_has_ended", "a sweep that is COMPLETE has no open trial",
       "SELECT 's-' || sweep.id || ' is COMPLETE and has ' || count(*) || ' open trials' FROM sweep "
       "JOIN trial ON trial.sweep = sweep.id WHERE sweep.state = 'COMPLETE' AND trial.state = 'PENDING' "
       "GROUP BY sweep.id"},
      {"token_below_next", "every token is below the next one to be given",
       "SELECT 'next_token is ' || coalesce((SELECT value FROM meta WHERE key = 'next_token'), 'missing') || "
       "', and the greatest token ' || (SELECT coalesce(max(token), 0) FROM attempt) "
       "WHERE NOT EXISTS (SELECT 1 FROM meta WHERE key = 'next_token' "
       "AND value > (SELECT coalesce(max(token), 0) FROM attempt))",
       "INSERT INTO meta (key, value) SELECT 'next_token', 1 + coalesce(max(token), 0) FROM attempt "
       "WHERE true ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)",
       "inlier doctor --repair sets it above all of them"},
      {"acknowledged_sequence", "what was acknowledged to a worker is a count",
       "SELECT 'worker ' || incarnation || ' has ' || acknowledged_sequence FROM worker "
       "WHERE acknowledged_sequence < 0"},
      {"worker_of_a_live_attempt", "a live attempt is of a worker that is known",
       "SELECT 'the attempt with token ' || token || ' is of worker ' || worker FROM attempt "
       "WHERE ended_ms IS NULL AND NOT EXISTS (SELECT 1 FROM worker WHERE worker.incarnation = "
       "attempt.worker)",
       nullptr, "nothing: the lease runs out and the stage is leased again"},
      {"artifact_path", "the path of an artifact stays inside the state folder",
       "SELECT 'artifact ' || id || ' has the path ' || path FROM artifact WHERE path LIKE '/%' OR path = '' "
       "OR '/' || path || '/' LIKE '%/../%' OR (path NOT LIKE 'artifacts/%' AND path NOT LIKE 'attempts/%')"},
  };
  return rules;
}

}  // namespace inlier
