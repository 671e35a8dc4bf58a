// The data source of a trial: which files its specification names. Their content decides the result as the fields do,
// and only a worker can read it: `inlier-trial digest` finds its digest (core/trial/data_digest.h).
//
// The fields are those with an option `file` other than NO_FILE. One digest serves all trials with the same names. A training
// has the source of its own files; an evaluation that names files (evaluation.multiple_choice) has one of these and of the
// training's.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_TRIAL_DATA_SOURCE_H_
#define INLIER_SPEC_TRIAL_DATA_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// The fields of `resolved` that name files, and nothing else. REQUIRES: the spec is resolved.
v1::TrialSpec DataSourceOf(const v1::TrialSpec& resolved);

// The same without the files of its evaluation.
v1::TrialSpec TrainingSourceOf(const v1::TrialSpec& resolved);

// DataSourceOf as JSON: equal for two specs exactly if they name the same files.
std::string DataSourceNames(const v1::TrialSpec& resolved);

// DataSourceNames as "data.text.path /data/mine.txt, training.start_from.checkpoint /models/a.safetensors", or "program mygpt".
std::string DataSourceText(const std::string& names);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_DATA_SOURCE_H_
