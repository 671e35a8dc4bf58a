#include "coordinator/state/sweeps/sweep_expander.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/deliberate_bug.h"
#include "spec/trial/canonical.h"
#include "spec/trial/data_source.h"
#include "spec/trial/validator.h"

namespace inlier {
namespace {

// The arena of a trial's spec begins with these, and grows.
constexpr std::size_t kArenaBytes = 16 * 1024;

}  // namespace

SweepExpander::SweepExpander(SweepGrid grid, std::uint64_t next_point)
    : grid_(std::move(grid)), next_point_(next_point), arena_block_(new char[kArenaBytes]) {}

std::vector<ExpandedTrial> SweepExpander::Next(std::uint64_t limit, std::unordered_set<std::uint64_t>& taken,
                                               std::uint64_t pass_limit) {
  google::protobuf::Arena arena(arena_block_.get(), kArenaBytes);
  std::vector<ExpandedTrial> trials;
  passed_.clear();
  while (trials.size() < limit && (passed_.empty() || passed_.size() < pass_limit) &&
         next_point_ < grid_.decided()) {
    const std::optional<std::uint64_t> index = grid_.NextIndex(next_point_);
    if (!index) {
      next_point_ = grid_.decided();
      break;
    }
    next_point_ = *index + (INLIER_BUG("grid_point_skipped") ? 2 : 1);
    if (taken.erase(*index) > 0) {
      passed_.push_back(*index);
    } else {
      Make(*index, arena, trials.emplace_back());
    }
  }
  return trials;
}

void SweepExpander::ReturnTo(std::uint64_t point, std::unordered_set<std::uint64_t>& taken) {
  next_point_ = point;
  for (const std::uint64_t passed : passed_) {
    if (passed >= point) taken.insert(passed);
  }
}

const std::shared_ptr<const std::string>& SweepExpander::NamesOf(const v1::TrialSpec& source) {
  std::string packed = source.SerializeAsString();
  if (latest_names_ == nullptr || packed != latest_source_) {
    latest_source_ = std::move(packed);
    latest_names_ = std::make_shared<const std::string>(DataSourceNames(source));
  }
  return latest_names_;
}

void SweepExpander::Make(std::uint64_t point, google::protobuf::Arena& arena, ExpandedTrial& trial) {
  arena.Reset();
  trial.point = point;
  auto* spec = google::protobuf::Arena::CreateMessage<v1::TrialSpec>(&arena);
  std::optional<Problem> untied;
  absl::StatusOr<PointLabels> labels = grid_.At(point, spec, &untied);
  INLIER_CHECK(labels.ok());
  trial.labels = *std::move(labels);
  trial.problem = untied ? absl::InvalidArgumentError(absl::StrCat(untied->path, ": ", untied->text))
                         : grid_.form().Resolve(spec);
  if (trial.problem.ok()) trial.problem = grid_.form().Find(*spec, validator_).ToStatus();
  const v1::StartFromSpec& start = spec->training().start_from();
  if (trial.problem.ok() && start.has_point()) {
    const absl::StatusOr<std::uint64_t> at = grid_.StartOf(point, start.point());
    if (at.ok()) {
      trial.start_point = *at;
    } else {
      trial.problem = absl::InvalidArgumentError(
          absl::StrCat("training.start_from.point: ", std::string(at.status().message())));
    }
  }
  if (!trial.problem.ok()) {
    spec->Clear();
    INLIER_CHECK(grid_.At(point, spec, &untied).ok());
    trial.spec_json = ResolvedJson(*spec);
    return;
  }
  if (start.has_point() || start.has_trial() || start.has_training()) {
    trial.unlinked = std::make_shared<v1::TrialSpec>(*spec);
  } else {
    SetParts(*spec, trial);
  }
}

void SweepExpander::SetStart(ExpandedTrial& trial, const std::string& training) {
  INLIER_CHECK(trial.unlinked != nullptr);
  trial.unlinked->mutable_training()->mutable_start_from()->set_training(training);
  SetParts(*trial.unlinked, trial);
  trial.unlinked.reset();
}

void SweepExpander::SetParts(const v1::TrialSpec& spec, ExpandedTrial& trial) {
  PackedParts parts = SplitPacked(spec);
  if (latest_train_ == nullptr || latest_train_->spec != parts.train) {
    latest_train_ =
        std::make_shared<const StagePart>(StagePart{.fingerprint = TrainFingerprint(spec),
                                                    .spec = std::move(parts.train),
                                                    .json = ResolvedPartJson(spec, v1::TRAIN_STAGE),
                                                    .names = NamesOf(TrainingSourceOf(spec)),
                                                    .version = spec.program().digest(),
                                                    .asks_first = spec.program().has_source()});
  }
  trial.train = latest_train_;
  trial.evaluate = {.fingerprint = EvaluateFingerprint(spec, trial.train->fingerprint),
                    .spec = std::move(parts.evaluate),
                    .json = ResolvedPartJson(spec, v1::EVALUATE_STAGE),
                    .names = spec.evaluation().has_multiple_choice() ? NamesOf(DataSourceOf(spec)) : nullptr,
                    .version = {},
                    .asks_first = false};
  trial.steps = spec.training().steps();
}

}  // namespace inlier
