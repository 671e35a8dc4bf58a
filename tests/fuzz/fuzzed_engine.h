// A fleet's engine whose queue is an input.
#ifndef INLIER_TESTS_FUZZ_FUZZED_ENGINE_H_
#define INLIER_TESTS_FUZZ_FUZZED_ENGINE_H_

#include <string>
#include <vector>

#include "base/check.h"
#include "fleet/slurm.h"

namespace inlier {

inline constexpr char kFleetId[] = "3fa9c1d2";

// A submission is taken, refused or not answered, by the length of the queue's text.
class FuzzedEngine : public Engine {
 public:
  // `queue` outlives it.
  explicit FuzzedEngine(const std::string& queue) : queue_(queue) {}
  absl::StatusOr<std::vector<EngineJob>> List(const FleetStep&) override {
    return ParseSqueue(kFleetId, queue_);
  }
  Submitted Submit(const FleetStep& step) override {
    INLIER_CHECK(step.submit->jobs <= step.config.maximum());
    return {.number = step.submit->number,
            .kind = static_cast<Submitted::Kind>(queue_.size() % 3),
            .job = "17",
            .message = "why"};
  }
  absl::Status Cancel(const FleetStep&) override { return absl::OkStatus(); }

 private:
  const std::string& queue_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_FUZZ_FUZZED_ENGINE_H_
