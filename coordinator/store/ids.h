// Ids of rows. The orchestrator hands the numbers out (from those of Snapshot on); the store only
// checks them.
#ifndef INLIER_COORDINATOR_STORE_IDS_H_
#define INLIER_COORDINATOR_STORE_IDS_H_

#include <cstdint>
#include <string_view>

#include "base/strong_id.h"

namespace inlier {

struct SweepTag {
  static constexpr std::string_view kPrefix = "s-";
};
struct TrialTag {
  static constexpr std::string_view kPrefix = "t-";
};
struct StageTag {
  static constexpr std::string_view kPrefix = "st-";
};
struct DataTag {
  static constexpr std::string_view kPrefix = "d-";
};
struct AnalysisTag {
  static constexpr std::string_view kPrefix = "a-";
};

using SweepId = StrongId<SweepTag>;
using TrialId = StrongId<TrialTag>;
using StageId = StrongId<StageTag>;
using DataId = StrongId<DataTag>;
using AnalysisId = StrongId<AnalysisTag>;

// Fencing number of an attempt, strictly increasing for the life of the database; names the attempt. 0 is
// none.
using Token = std::uint64_t;

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_IDS_H_
