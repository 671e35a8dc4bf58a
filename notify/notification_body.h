// Parts of the bodies of notifications, as committed rows have them.
#ifndef INLIER_NOTIFY_NOTIFICATION_BODY_H_
#define INLIER_NOTIFY_NOTIFICATION_BODY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/store/reader.h"
#include "nlohmann/json.hpp"

namespace inlier {

struct SweepEnd {
  std::string state{};  // A value of SweepState.
  WallTime at{};
};

struct SweepPart {
  std::string name{};    // "sweep gamma (s-4)".
  std::string counts{};  // "12 succeeded, 1 failed".
  nlohmann::ordered_json json{};
};

// `end`: as the sweep was when it ended; it may have been retried since.
absl::StatusOr<SweepPart> ReadSweep(Reader& reader, SweepId sweep,
                                    const std::optional<SweepEnd>& end = std::nullopt);

struct FailurePart {
  std::int64_t failures = 0;
  WallTime at{};  // Of the first. It and the next are of no meaning without failures.
  TrialId first_trial{};
  nlohmann::ordered_json trials{};  // The first ten.
};

// The failures of the sweep after event `after`, up to event `last`.
absl::StatusOr<FailurePart> ReadFailures(Reader& reader, SweepId sweep, std::int64_t after,
                                         std::int64_t last);

}  // namespace inlier

#endif  // INLIER_NOTIFY_NOTIFICATION_BODY_H_
