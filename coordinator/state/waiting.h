// Lists of waits: attempts and stages for a time, stages for a worker, workers for a stage.
#ifndef INLIER_COORDINATOR_STATE_WAITING_H_
#define INLIER_COORDINATOR_STATE_WAITING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/time.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/ids.h"

namespace inlier {

// Times at which something is due, earliest first.
struct Deadlines {
  std::set<std::pair<Timestamp, Token>> by_progress;  // (progressed, token) of live attempts.
  std::set<std::pair<Timestamp, StageId>> retries;    // (not_before, stage).
  std::set<std::pair<Timestamp, Token>> yields;       // (yields_until, token).
  std::set<std::pair<Timestamp, std::pair<std::string, std::string>>>
      probes;                    // (probe_at, incarnation and device); a superset.
  Timestamp preemption_checked;  // Time of the last check for preemption.
  // Limits (usage/usage.h): of live attempts and the trials that need them, of sweeps, of owners.
  std::set<std::pair<Timestamp, Token>> attempt_limits;
  std::set<std::pair<Timestamp, SweepId>> sweep_limits;
  std::set<std::pair<Timestamp, std::string>> budgets;
};

// Ready stages that wait for the worker that has their checkpoint.
struct HolderWaits {
  std::map<StageId, std::pair<std::uint32_t, Timestamp>> by_stage;  // Stage -> number of the worker, until.
  std::set<std::pair<Timestamp, StageId>> due;                      // The same, by time.
};

// A digest that a worker is asked for.
struct DataCheck {
  Token token = 0;                              // 0: no worker is asked.
  std::string worker;                           // Incarnation of the worker that is asked.
  Timestamp asked;                              // Or when the worker was heard to have read on.
  std::string reading;                          // How far it has come, in its words.
  bool pushed = false;                          // The worker has been sent it.
  Token last_token = 0;                         // Of the latest question, answered or not.
  std::map<std::string, std::string> problems;  // Incarnation -> why it could not find the digest.
};

struct DataWaits {
  std::map<DataId, DataCheck> checks;  // By data source.
  std::set<SweepId> sweeps;            // Sweeps whose expansion waits for the digest of a source.
  // When to look for ready stages that no worker has the data of.
  std::optional<Timestamp> lacking_due;
};

// The worker whose slots are kept for a gang until it fits there (scheduling/gather.h).
struct Reservation {
  std::string worker;         // Its incarnation; empty: none.
  ResourceRequest request{};  // The gang's.
};

// Workers that listen and have a free slot, the longest idle first.
struct IdleWorkers {
  std::map<std::uint64_t, std::string> by_ticket;  // Ticket -> incarnation.
  std::uint64_t last_ticket = 0;
  // Request -> no idle worker with a ticket up to this one has a slot on which it fits.
  std::map<ResourceRequest, std::uint64_t> no_fit_up_to;
  Reservation reservation;

  // Puts a worker at the end; returns its ticket.
  std::uint64_t Add(const std::string& incarnation) {
    by_ticket.emplace(++last_ticket, incarnation);
    return last_ticket;
  }
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_WAITING_H_
