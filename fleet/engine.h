// The engine that runs the fleet's jobs on a cluster: its queue, submissions and cancellations.
#ifndef INLIER_FLEET_ENGINE_H_
#define INLIER_FLEET_ENGINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "inlier/v1/fleet.pb.h"

namespace inlier {

// A job as the engine lists it.
struct EngineJob {
  enum class Phase { kQueued, kRunning, kEnded };
  std::string id{};
  std::uint64_t submission = 0;  // By its name.
  Phase phase = Phase::kQueued;
  bool stuck = false;    // kQueued: its start failed, and the engine does not try again by itself.
  std::string state{};   // In the engine's word.
  std::string reason{};  // The same: why it waits, or how it ended; empty: none.
  std::string node{};    // Empty: none.
};

// The engine's queue, as it was read.
struct EngineLook {
  Timestamp began{};
  absl::StatusOr<std::vector<EngineJob>> jobs = std::vector<EngineJob>();  // Jobs with a name of this fleet.
};

struct NewJobs {
  std::uint64_t number = 0;  // Of the submission.
  std::uint32_t jobs = 1;
};

struct FleetStep {
  std::string id{};  // In the names of its jobs.
  v1::FleetConfig config{};
  std::optional<NewJobs> submit{};    // Once it is stored.
  std::vector<std::string> cancel{};  // Ids of jobs.
};

// How a submission went.
struct Submitted {
  enum class Kind { kTaken, kRefused, kUnclear };
  std::uint64_t number = 0;
  Kind kind = Kind::kUnclear;
  std::string job{};      // kTaken: the engine's id.
  std::string message{};  // Else why.
};

// "inlier-3fa9c1d2-17", and the number in it; 0: the name is not of this fleet.
std::string FleetJobName(const std::string& fleet_id, std::uint64_t submission);
std::uint64_t SubmissionOf(const std::string& fleet_id, const std::string& job_name);

// Thread safety: one thread calls it; Stop from any.
class Engine {
 public:
  virtual ~Engine() = default;
  // The jobs of this fleet that the engine lists, ended ones too.
  virtual absl::StatusOr<std::vector<EngineJob>> List(const FleetStep& fleet) = 0;
  // Asks for the submission of the step. Unclear where the engine may have taken it without an answer.
  virtual Submitted Submit(const FleetStep& fleet) = 0;
  // Ends jobs: their workers are asked to end. Jobs that are gone are ignored.
  virtual absl::Status Cancel(const FleetStep& fleet) = 0;
  // Ends the call that runs, and all later ones.
  virtual void Stop() {}
};

}  // namespace inlier

#endif  // INLIER_FLEET_ENGINE_H_
