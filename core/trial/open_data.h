// The data of a trial, and the model that fits it.
#ifndef INLIER_CORE_TRIAL_OPEN_DATA_H_
#define INLIER_CORE_TRIAL_OPEN_DATA_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/dataset.h"
#include "core/models/model.h"
#include "core/text/corpus.h"
#include "core/text/tokenizer.h"
#include "core/train/evaluator.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

struct TrialData {
  std::unique_ptr<Dataset> dataset;     // The training data.
  std::unique_ptr<Dataset> evaluation;  // The evaluation data; null if the same.
  Baseline baseline;                    // Of the evaluation data; only for_evaluation.
  std::vector<Question> questions;      // Of evaluation.multiple_choice; only for_evaluation.
  std::shared_ptr<Model> model;         // On the CPU in float32, weights not set.

  const Dataset& evaluated() const { return evaluation == nullptr ? *dataset : *evaluation; }
};

// Opens the data of `resolved`, in the folders and with the threads of `options`. `for_evaluation`: also the data for
// evaluation only. Errors are those of the data's kind and of MakeModel, and InvalidArgument where the two do not fit.
absl::StatusOr<TrialData> OpenTrialData(const v1::TrialSpec& resolved, const TextOpenOptions& options,
                                        bool for_evaluation);

// Null where the data are not text.
const Tokenizer* TokenizerOf(const Dataset& data);
// The digest of the tokenizer, so that equal ids are equal tokens; empty where the data are not text.
std::string VocabularyDigestOf(const Dataset& data);
// The names of a classifier's outputs in their order; empty where there are no classes.
std::vector<std::string> ClassNamesOf(const Dataset& data);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_OPEN_DATA_H_
