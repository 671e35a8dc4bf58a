// The data that a trial names, and the model that fits it.
#ifndef INLIER_CORE_TRIAL_OPEN_DATA_H_
#define INLIER_CORE_TRIAL_OPEN_DATA_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/data/corpus.h"
#include "core/data/dataset.h"
#include "core/models/model.h"
#include "core/train/evaluator.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

struct TrialData {
  std::unique_ptr<Dataset> dataset;     // What training reads.
  std::unique_ptr<Dataset> evaluation;  // What evaluation reads; null where it is the same.
  Baseline baseline;                    // Of what evaluation reads; only where it was asked for.
  std::shared_ptr<Model> model;         // On the CPU in float32, weights not set.

  const Dataset& evaluated() const { return evaluation == nullptr ? *dataset : *evaluation; }
};

// Opens what `resolved` names, in the folders and with the threads of `options`. `for_evaluation`: also what
// only evaluation needs. Errors as those of the data's kind and of MakeModel, and where the two do not fit.
absl::StatusOr<TrialData> OpenTrialData(const v1::TrialSpec& resolved, const TextOpenOptions& options,
                                        bool for_evaluation);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_OPEN_DATA_H_
