// The fleet in memory: its configuration, the submissions that have not ended, and its jobs as the engine listed them
// last. Plain data; the rules are in fleet.h.
#ifndef INLIER_FLEET_STATE_H_
#define INLIER_FLEET_STATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/time.h"
#include "coordinator/status/cluster_view.h"
#include "fleet/engine.h"
#include "inlier/v1/fleet.pb.h"
#include "inlier/v1/worker_service.pb.h"

namespace inlier {

// The fleet, as it was made or changed last.
struct FleetRow {
  std::string id{};                        // In the names of its jobs; stays when the fleet is replaced.
  std::string config_json{};               // FleetConfig.
  bool from_configuration = false;         // The coordinator's configuration had it at the last start.
  std::optional<std::uint32_t> minimum{};  // In place of the configuration's. The same for the maximum.
  std::optional<std::uint32_t> maximum{};
  bool stopped = false;
  std::string home{};  // The state folder of the coordinator that had it last; empty: not known.
};

// Jobs that the fleet's engine was asked for with one call.
struct FleetSubmissionRow {
  enum class State {
    kAsked,    // It is not known whether the engine took them.
    kTaken,    // Its job id is known.
    kRefused,  // None of them was made.
    kEnded,    // All have ended.
    kLost,     // They did not show in the engine's queue in time.
  };
  std::uint64_t number = 0;  // In its name. Above every earlier one.
  std::uint32_t jobs = 1;
  State state = State::kAsked;
  std::string job{};      // The engine's id; empty: not known.
  std::string message{};  // Why it was refused, or how it ended.
  WallTime at{};          // When it was stored, before the engine was asked.
  std::optional<WallTime> ended_at{};
};

// A row to be stored in place of the one of before.
using FleetChange = std::variant<FleetRow, FleetSubmissionRow>;

struct FleetSubmission {
  FleetSubmissionRow row{};
  Timestamp since{};     // It became what it is, or this process started.
  bool calling = false;  // The engine's program is being run for it.
  bool seen = false;     // The engine has listed it, or took it before this process started.
};

// A running job without a connected worker.
struct FleetSilence {
  Timestamp since{};
  bool starts = false;    // This process saw the job start, and no worker has come from it since.
  bool too_long = false;  // For connect_seconds.
};

// When the engine is asked for jobs again, and for how many at once.
struct FleetPatience {
  std::uint32_t batch_max = 0;  // Jobs of one submission; 0: as configured.
  std::uint32_t refusals = 0;   // In a row, of single jobs.
  std::string refusal;          // Why; empty: the latest submission was taken.
  std::uint32_t jobs_then = 0;  // That the engine had when it refused.
  std::uint32_t early_ends =
      0;                  // Jobs in a row that ended, or were abandoned, before their worker connected.
  std::string early_end;  // How the latest did.
  std::optional<Timestamp> not_before;
};

// Since the process started; each becomes a counter of /metrics.
struct FleetStats {
  std::uint64_t jobs_submitted = 0;
  std::uint64_t submissions_refused = 0;
  std::uint64_t submissions_unclear = 0;
  std::uint64_t submissions_lost = 0;
  std::uint64_t jobs_cancelled = 0;
  std::uint64_t engine_failures = 0;
};

struct Fleet {
  std::string home;             // The state folder.
  std::optional<FleetRow> row;  // nullopt: there is none.
  v1::FleetConfig config;       // With the minimum and maximum in force.
  std::uint64_t next_submission = 1;
  std::map<std::uint64_t, FleetSubmission> submissions;  // By number.
  std::map<std::string, EngineJob> jobs;                 // By id; those that have not ended.
  std::map<std::string, Timestamp> leaving;              // Jobs that are asked to end, since when.
  std::map<std::string, Timestamp> idle;       // Workers without an attempt, by incarnation, since when.
  std::set<std::string> connected_once;        // Jobs whose worker has connected, of those listed.
  std::map<std::string, FleetSilence> silent;  // By job.
  std::set<std::string> exit_classified;       // Jobs whose ends have been classified, of those listed.
  std::optional<Timestamp> last_poll;          // The latest poll of the engine's queue that succeeded.
  std::string problem;                         // Why the latest look failed; empty: it did not.
  Timestamp problem_since;
  std::optional<Timestamp> surplus_since;  // There are more jobs than wanted.
  FleetPatience patience;
  std::vector<v1::Slot> slots;   // Of a worker of its latest submission with one; empty: none has connected.
  std::uint64_t memory_mib = 0;  // Of the same.
  std::uint64_t slots_of = 0;    // That submission; jobs of earlier ones may have other slots.
  std::uint64_t config_since = 0;  // The first submission with this configuration's jobs.
  std::uint32_t wanted = 0;        // By the latest plan. The same for the next.
  std::uint64_t waiting = 0;
  std::uint32_t needed = 0;  // Jobs that the work would fill, without the maximum.
  std::string misfit;        // Waiting work that no job of the fleet could run; empty: none.
  FleetStats stats;
};

// One decision: what it changes, what it sees, and what is to be done with it.
struct FleetContext {
  Fleet& fleet;
  const ClusterView& view;
  Timestamp now{};
  WallTime wall{};
  std::vector<FleetChange> changes{};  // To be stored, before the engine is asked or a caller is answered.
  std::vector<std::string> log{};      // One line each, at INFO.

  // A line for `log`, of these parts.
  template <typename... Parts>
  void Log(const Parts&... parts) {
    log.push_back(absl::StrCat(parts...));
  }
};

}  // namespace inlier

#endif  // INLIER_FLEET_STATE_H_
