// Oracle: sweeps that were removed, and what was freed with them.
#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "tests/simulation/oracle.h"

namespace inlier {
namespace {

constexpr const char* kFates[] = {"WHOLE", "NO_MODEL", "FREED", "EMPTY"};

auto Rank(const std::string& fate) { return std::find(std::begin(kFates), std::end(kFates), fate); }

}  // namespace

void Oracle::RemovalDecided(const std::string& sweep, bool removed) {
  world_.Count(removed ? "removals" : "restores");
  removals_[SweepId::Parse(sweep).value_or(SweepId()).value()].Decide(removed);
}

std::vector<std::int64_t> Oracle::stage_ids() const {
  std::vector<std::int64_t> ids;
  for (const auto& [id, stage] : stages_) ids.push_back(id);
  return ids;
}

void Oracle::ReadFate(std::int64_t id, const std::string& fate) {
  StageRow& stage = stages_[id];
  Must(Rank(fate) >= Rank(stage.fate), absl::StrCat("stage ", id, " was ", stage.fate, ", and is ", fate));
  stage.fate = fate;
  Must(fate == "WHOLE" || IsTerminalName(stage.state),
       absl::StrCat("stage ", id, " is ", fate, ", and ", stage.state));
}

void Oracle::CheckFates() {
  for (const auto& [id, stage] : stages_) {
    if (!stage.IsFreed()) continue;
    for (const std::int64_t trial : trials_of_stage_[id]) {
      Must(sweeps_.at(trials_.at(trial).sweep).freed,
           absl::StrCat("stage ", id, " is freed, and trial ", trial, " of sweep ", trials_.at(trial).sweep,
                        " needs it"));
    }
  }
  for (const auto& [id, sweep] : sweeps_) {
    if (!sweep.removed) continue;
    for (const std::int64_t trial : sweep.trial_ids) {
      Must(IsTerminalName(trials_.at(trial).state),
           absl::StrCat("sweep ", id, " is removed, and its trial ", trial, " is ", trials_.at(trial).state));
    }
  }
}

void Oracle::CheckMeasurementsGone(const std::set<std::int64_t>& rows) {
  for (const std::int64_t id : rows) {
    const auto known = measurements_.find(id);
    if (known == measurements_.end()) continue;
    const std::int64_t stage = attempts_.at(known->second).stage;
    Must(stages_.at(stage).IsFreed(),
         absl::StrCat("row ", id, " of measurement was committed and is gone, and stage ", stage,
                      " is not freed"));
    measurements_.erase(known);
    world_.Count("measurements of freed stages deleted");
  }
}

}  // namespace inlier
