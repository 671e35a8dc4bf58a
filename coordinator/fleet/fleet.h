// The fleet's decisions over the state: what a look at the engine's queue changes, and what the engine is asked for.
//
// Never twice: a submission is stored as ASKED before the engine is asked, and its number is in the name of its jobs. The
// answer makes it TAKEN or REFUSED. Without an answer (a time limit, a kill, a crash of the coordinator) the queue
// decides: a job of that name makes it TAKEN, also later than unclear_seconds, when it would be LOST. Until then its jobs
// count as there. A job is over when the queue no longer lists it and no worker of it is connected.
//
// A job that is given back takes no new attempt from the decision on, so that its worker is idle when it ends.
//
// Thread safety: none; functions of the State on the coordinator's thread.
#ifndef INLIER_COORDINATOR_FLEET_FLEET_H_
#define INLIER_COORDINATOR_FLEET_FLEET_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/state/context.h"
#include "coordinator/store/snapshot.h"

namespace inlier {

// The engine's queue, as it was read.
struct EngineLook {
  Timestamp began{};
  absl::StatusOr<std::vector<EngineJob>> jobs = std::vector<EngineJob>();  // Those with a name of this fleet.
};

// What the engine is to be asked for. Once it is durable.
struct FleetStep {
  bool present = false;  // There is a fleet.
  std::string id{};      // In the names of its jobs.
  v1::FleetConfig config{};
  std::optional<FleetSubmissionRow> submit{};
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

// Loads what is stored, and the configuration's fleet, if it has one.
absl::Status RecoverFleet(Context& context, Snapshot& snapshot);

// Sets Fleet::config from its row. InvalidArgument: the row's is no FleetConfig.
absl::Status ApplyFleetRow(Fleet& fleet);

// Workers of jobs that are to end take nothing new, those of others do.
void RefreshLeaving(State& state);

// Takes a look (nullopt: there was none yet), and decides. `may_submit`: the store takes commits.
FleetStep TakeLook(Context& context, const std::optional<EngineLook>& look, bool may_submit);

void TakeSubmitted(Context& context, const Submitted& submitted);
void TakeCancelled(Context& context, const std::vector<std::string>& jobs, const absl::Status& status);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_FLEET_FLEET_H_
