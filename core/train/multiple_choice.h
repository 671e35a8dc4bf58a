// Questions with several answers, of which a causal model finds one likelier than the others: zero-shot evaluation, with the numbers of EleutherAI's
// lm-evaluation-harness for `output_type: multiple_choice` (Gao et al. 2024; zenodo 12608602).
//
//   score of an answer = sum of ln p of its tokens, behind the tokens of the context
//   acc       the answer of the largest score is the right one
//   acc_norm  the same of score / characters of the answer
//
// Of equal ones the first counts. Sequences of one length share a batch, so that there is no padding and no score depends on others, but where a
// quantizer finds its range in the batch.
#ifndef INLIER_CORE_TRAIN_MULTIPLE_CHOICE_H_
#define INLIER_CORE_TRAIN_MULTIPLE_CHOICE_H_

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/models/language_model.h"
#include "core/train/trial_sink.h"

namespace inlier {

// An answer behind its context.
struct Choice {
  std::vector<std::int64_t>
      ids;  // At most one more than the model's longest sequence: nothing is predicted from the last.
  std::int64_t scored = 0;  // The last so many are the answer's: from 1 to ids.size() - 1.
  double characters = 0;    // Unicode characters of the answer, without the space before it.
};

struct Question {
  std::string group;
  std::vector<Choice> choices;
  std::size_t gold = 0;
};

struct GroupScores {
  std::string group;
  std::int64_t questions = 0;
  double accuracy = 0;       // acc
  double accuracy_norm = 0;  // acc_norm
  // Standard errors sqrt(a (1 - a) / (n - 1)); none of one question.
  std::optional<double> accuracy_stderr;
  std::optional<double> accuracy_norm_stderr;
};

// The score of each choice of each question, in their order. `tap`: what changes or rounds the model; null: nothing. The model is in evaluation mode. Cancelled
// when `stop_requested` returns true between batches.
absl::StatusOr<std::vector<std::vector<double>>> ScoreChoices(LanguageModel& model,
                                                              std::span<const Question> questions,
                                                              std::int64_t batch_size, c10::Device device,
                                                              ActivationTap* tap, TrialSink& sink,
                                                              const std::function<bool()>& stop_requested);

// By group, in the order of their first questions. `scores` as ScoreChoices gives them.
std::vector<GroupScores> ScoreGroups(std::span<const Question> questions,
                                     const std::vector<std::vector<double>>& scores);

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_MULTIPLE_CHOICE_H_
