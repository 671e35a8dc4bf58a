// The work, and the workers in jobs of a cluster's engine, as a service outside the decisions (fleet/) sees them, and
// its reports about them to the decisions.
#ifndef INLIER_COORDINATOR_STATUS_CLUSTER_VIEW_H_
#define INLIER_COORDINATOR_STATUS_CLUSTER_VIEW_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "coordinator/store/rows.h"
#include "inlier/v1/worker_service.pb.h"

namespace inlier {

struct State;

struct ClusterView {
  struct Worker {
    std::string incarnation{};
    std::string name{};
    std::string job{};  // The engine's name of the job that it runs in.
    bool connected = false;
    Timestamp last_seen{};
    Timestamp leased{};  // When its latest attempt was leased to it.
    std::vector<v1::Slot> slots{};
    std::uint64_t memory_mib = 0;
    std::uint32_t attempts = 0;
    bool reads_data = false;  // For a sweep that waits for their digest.
    bool draining = false;    // It ends by itself.
    bool refuses = false;     // It is drained, or outdated.
    std::optional<std::uint32_t> seconds_left{};
    bool IsBusy() const { return attempts > 0 || reads_data; }
  };
  std::map<ResourceRequest, std::uint64_t> backlog{};  // Ready stages that no slot takes now.
  bool data_wait = false;                              // A sweep waits for a worker that can read its data.
  bool can_store = true;                               // The store takes commits.
  std::vector<Worker> workers{};                       // In jobs; those that are not connected, too.
};

struct JobDrain {
  std::set<std::string> jobs{};  // Workers in these take nothing new, and those in all others do.
  std::string yield{};           // Why their attempts write checkpoints and stop; empty: they continue.
  bool workers_come = false;     // The service brings workers where there is work.
};

ClusterView ViewCluster(const State& state);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATUS_CLUSTER_VIEW_H_
