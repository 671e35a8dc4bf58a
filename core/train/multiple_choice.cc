#include "core/train/multiple_choice.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/status.h"
#include "core/nn/precision.h"
#include "core/train/phase_progress.h"

namespace inlier {
namespace {

// A choice, and the place of its score.
struct ScoredRow {
  const Choice* choice = nullptr;
  double* score = nullptr;
};

// Sets the scores of rows of one length.
void ScoreBatch(LanguageModel& model, std::span<const ScoredRow> rows, c10::Device device,
                ActivationTap* tap) {
  const auto length = static_cast<std::int64_t>(rows[0].choice->ids.size()) - 1;
  const auto count = static_cast<std::int64_t>(rows.size());
  const at::Tensor ids = at::empty({count, length}, at::kLong);
  std::vector<std::int64_t> places,
      targets;  // Of the scored tokens: where they are predicted in `ids`, flattened.
  for (std::int64_t row = 0; row < count; ++row) {
    const Choice& choice = *rows[static_cast<std::size_t>(row)].choice;
    std::copy_n(choice.ids.begin(), length, ids.data_ptr<std::int64_t>() + row * length);
    for (std::int64_t i = length - choice.scored; i < length; ++i) {
      places.push_back(row * length + i);
      targets.push_back(choice.ids[static_cast<std::size_t>(i) + 1]);
    }
  }
  const auto on_device = [device](const std::vector<std::int64_t>& values) {
    return at::tensor(values, at::kLong).to(device);
  };
  const at::Tensor logits = model.LogitsAt({.ids = ids.to(device)}, on_device(places), tap);
  const at::Tensor chances = at::log_softmax(AtLeastFloat32(logits), 1)
                                 .gather(1, on_device(targets).unsqueeze(1))
                                 .squeeze(1)
                                 .to(at::kCPU, at::kDouble);
  const double* next = chances.data_ptr<double>();
  for (const ScoredRow& row : rows) {
    *row.score = 0;
    for (std::int64_t i = 0; i < row.choice->scored; ++i) *row.score += *next++;
  }
}

// The first of the largest.
template <typename Value>
std::size_t BestOf(std::size_t count, const Value& value) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (value(i) > value(best)) best = i;
  }
  return best;
}

std::optional<double> ErrorOfShare(double share, std::int64_t count) {
  if (count < 2) return std::nullopt;
  return std::sqrt(share * (1 - share) / static_cast<double>(count - 1));
}

}  // namespace

absl::StatusOr<std::vector<std::vector<double>>> ScoreChoices(LanguageModel& model,
                                                              std::span<const Question> questions,
                                                              std::int64_t batch_size, c10::Device device,
                                                              ActivationTap* tap, TrialSink& sink,
                                                              const std::function<bool()>& stop_requested) {
  const c10::InferenceMode inference;
  std::vector<std::vector<double>> scores;
  std::vector<ScoredRow> rows;
  for (const Question& question : questions) scores.emplace_back(question.choices.size());
  for (std::size_t i = 0; i < questions.size(); ++i) {
    for (std::size_t k = 0; k < questions[i].choices.size(); ++k) {
      const Choice& choice = questions[i].choices[k];
      INLIER_CHECK(choice.scored >= 1 && choice.scored < static_cast<std::int64_t>(choice.ids.size()));
      rows.push_back({&choice, &scores[i][k]});
    }
  }
  const auto length = [](const ScoredRow& row) { return row.choice->ids.size(); };
  std::ranges::stable_sort(rows, {}, length);
  PhaseProgress progress("questions", static_cast<std::int64_t>(rows.size()), sink);
  for (auto begin = rows.begin(); begin != rows.end();) {
    RETURN_IF_ERROR(CheckStop(stop_requested));
    auto end = begin;
    while (end != rows.end() && length(*end) == length(*begin) && end - begin < batch_size) ++end;
    ScoreBatch(model, {begin, end}, device, tap);
    begin = end;
    progress.Done(begin - rows.begin(), std::nullopt);
  }
  return scores;
}

std::vector<GroupScores> ScoreGroups(std::span<const Question> questions,
                                     const std::vector<std::vector<double>>& scores) {
  std::vector<GroupScores> groups;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Question& question = questions[i];
    auto group = std::ranges::find(groups, question.group, &GroupScores::group);
    if (group == groups.end()) group = groups.insert(groups.end(), GroupScores{.group = question.group});
    const std::size_t count = question.choices.size();
    const std::size_t likeliest = BestOf(count, [&](std::size_t k) { return scores[i][k]; });
    const std::size_t by_length =
        BestOf(count, [&](std::size_t k) { return scores[i][k] / question.choices[k].characters; });
    ++group->questions;
    group->accuracy += likeliest == question.gold ? 1 : 0;
    group->accuracy_norm += by_length == question.gold ? 1 : 0;
  }
  for (GroupScores& group : groups) {
    group.accuracy /= static_cast<double>(group.questions);
    group.accuracy_norm /= static_cast<double>(group.questions);
    group.accuracy_stderr = ErrorOfShare(group.accuracy, group.questions);
    group.accuracy_norm_stderr = ErrorOfShare(group.accuracy_norm, group.questions);
  }
  return groups;
}

}  // namespace inlier
