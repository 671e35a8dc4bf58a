// The truth as seen from outside: the oracle knows every message of people and workers, reads the rows that each
// transaction changed from the database itself (SQLite lists them), and trusts no other source.
//
//  - what was acknowledged to a worker (events, leases) or to a person (sweeps, cancellations, counts) is
//    stored when the reply leaves, and is never gone again;
//  - a stage has one result, and it is that of the attempt with the live token; nothing of a stale token is
//    there; events are stored once, and in order;
//  - terminal states stay, except where a person retries; rows never vanish; tokens grow;
//  - slots, GPUs, memory, max_parallel and the retry policy are never exceeded; a draining worker gets
//    nothing;
//  - a worker gets what it asked for, or what was pushed to it while it listened; nothing while the store is
//    full;
//  - a sweep that was paused starts nothing, and a worker that was drained gets nothing, until someone asks
//    otherwise, over restarts too; an attempt that was to yield is wanted of no worker any more;
//  - a sweep belongs to who submitted it, no one else changes it but an admin, and all sweeps of an owner together stay
//    within the limit of that owner;
//  - an edited sweep has each trial at its point: what is in both sweeps keeps its trial, what has left is
//    withdrawn, has ended, and never changes again;
//  - what pruning decided follows from what was there before, and what it ended has ended;
//  - a request that comes again gets the same answer;
//  - a removed sweep has ended, and only who asked for it restores it; what is freed is needed by no sweep that is not, is given
//    to no new trial and starts no attempt, and stays so; measurements are deleted of freed stages alone;
//  - a trial ends with no result of data that no machine had any more when its sweep was submitted, and the results
//    of a training and of its evaluations are of one digest;
//  - an attempt that has run for the attempt_hours of all sweeps that ever needed its stage is asked to stop; no attempt of a
//    sweep starts after its sweep_hours;
//  - an evaluation starts only when its training's checkpoint is stored;
//  - an attempt is given up as LOST only when its worker was silent for the whole term, counted from the start
//    of the coordinator at the earliest;
//  - a worker whose job is drained gets no new attempt;
//  - a worker starts nothing whose lease ran out, and one whose attempts end with the lease runs nothing whose
//    lease ran out at the same time as the next attempt of the stage.
//
// Thread safety: none.
#ifndef INLIER_TESTS_SIMULATION_ORACLE_H_
#define INLIER_TESTS_SIMULATION_ORACLE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/decisions/orchestrator.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/worker_service.pb.h"
#include "tests/simulation/world.h"

namespace SQLite {
class Database;
}

namespace inlier {

// Of a trial's state as it is in the database.
inline bool IsTerminalName(const std::string& state) { return state != "PENDING" && state != "RUNNING"; }

class Oracle {
 public:
  explicit Oracle(World& world);
  ~Oracle();

  // The store: which connection writes, and how its transactions end.
  void Watch(SQLite::Database& connection);
  void Unwatch();
  void Committed();
  void RolledBack();

  // The coordinator. `reopened`: from a copy of the files; everything is read again.
  void CoordinatorStarts(bool reopened);
  void SyncArrives(const v1::WorkerSync& sync);
  // The worker waits on its stream, or does not any more.
  void Listens(const std::string& incarnation, bool listens);
  // `takes_leases`: the store has room for them.
  void Decided(const Effects& effects, const v1::WorkerSync* sync, bool takes_leases);
  // REQUIRES: all that was decided is stored.
  void CheckLimits();
  // A reply to a worker: when it was decided, and when it leaves.
  void AnswerDecided(const v1::CoordinatorSync& answer);
  void ReplyLeaves(const v1::WorkerSync& sync, const v1::CoordinatorSync& reply);
  void PushLeaves(const std::string& incarnation, const v1::CoordinatorSync& push);

  // People. A retry is asked of the coordinator; answers go to the caller.
  void RetryArrives(const v1::RetryRequest& request) {
    ++retries_[request.has_trial() ? request.trial() : request.sweep()];
  }
  void SubmitDecided(const Effects& effects);
  void SubmitAnswered(const v1::SubmitSweepRequest& request, const Caller& caller,
                      const v1::SubmitSweepResponse& response);
  // The coordinator has decided a request of the caller that names a sweep, a trial or a worker.
  template <typename Request>
  void AnswerDecided(const Caller& caller, const Request& request, const absl::Status& outcome) {
    if constexpr (requires { request.sweep(); }) {
      if constexpr (requires { request.trial(); }) {
        if (request.has_trial()) return CheckChange(caller, request.trial(), outcome);
      }
      CheckChange(caller, request.sweep(), outcome);
    }
  }
  // Of a sweep or a trial, by its row.
  std::string OwnerOf(const std::string& name) const;
  // `asked_before`: Asked() when it was decided.
  void SweepCancelled(const std::string& sweep, std::uint64_t asked_before);
  // Retries and edits asked for so far, of the sweep or one of its trials.
  std::uint64_t Asked(const std::string& sweep);
  void SweepShown(const v1::SweepStatus& status);
  // True if the decision is kept under this request id: it was not answered before.
  static bool Remembers(const Effects& effects, const std::string& request_id);
  // An empty id: nothing is promised.
  void AnswerLeaves(const std::string& request_id, const std::string& answer);
  // A switch is set by a decision, which gets a number, and the answer leaves when it is stored.
  std::uint64_t PauseDecided(const std::string& sweep, bool paused);
  void PauseAnswered(const std::string& sweep, bool paused, std::uint64_t decision);
  std::uint64_t HoldDecided(const std::string& worker, bool held);
  void HoldAnswered(const std::string& worker, bool held, std::uint64_t decision);
  void RemovalDecided(const std::string& sweep, bool removed);
  void EditDecided(const v1::EditSweepRequest& request, const v1::EditSweepResponse& response);
  void EditAnswered(const v1::EditSweepRequest& request, const v1::EditSweepResponse& response);
  void ExtendDecided(const v1::ExtendSweepRequest& request, const v1::ExtendSweepResponse& response);
  void ExtendAnswered(const v1::ExtendSweepRequest& request);

  // Workers. `sound`: the coordinator may store it.
  void Emitted(const std::string& incarnation, const v1::NumberedEvent& event, bool sound);
  // `sound_clock`: good enough for the lease's margin. `ends_with_lease`: attempts do not run on.
  void Begins(const std::string& incarnation, Token token, const std::string& stage, bool sound_clock,
              bool ends_with_lease);
  void Ends(const std::string& incarnation, Token token);
  void Executes(const std::string& incarnation, Token token, const std::string& stage);
  void Pauses(const std::string& incarnation) { paused_.insert(incarnation); }
  void Resumes(const std::string& incarnation) { paused_.erase(incarnation); }

  // Reads everything again and compares.
  void ReadAll();
  // Trouble is over and nothing is left to do: everything has ended, and is shown so.
  bool AllOver() const;
  void CheckEnd();

  struct SweepRow;
  struct StageRow;
  struct TrialRow;
  struct AttemptRow;
  const std::map<std::int64_t, SweepRow>& sweeps() const { return sweeps_; }
  std::vector<std::string> trial_ids() const;
  std::vector<std::int64_t> stage_ids() const;
  std::vector<std::string> worker_ids() const;  // Incarnations, in the order in which they were stored.
  // From now on workers in these jobs get nothing new, and those in others do.
  void JobsDrained(std::set<std::string> jobs) { drained_jobs_ = std::move(jobs); }
  // By their rows.
  std::vector<std::string> PausedSweeps() const;
  bool IsHeld(const std::string& worker) const;

 private:
  struct Statements;
  void ReadSearchPoint(std::int64_t id);
  struct Emission {
    std::uint64_t sequence = 0;
    Token token = 0;
    int kind = 0;      // v1::TrialEvent::EventCase.
    std::string mark;  // Identifies it in the store.
    bool sound = false;
    bool stored = false;
  };
  std::map<std::int64_t, std::string> search_rows_;  // By row: as it is stored.
  std::map<std::pair<std::int64_t, std::int64_t>, std::string>
      asked_for_;  // By sweep and number: its values.
  struct WorkerView {
    std::vector<Emission> emitted;  // By sequence.
    std::uint64_t checked = 0;      // Acknowledged and found stored up to here.
    std::uint64_t sync_id = 0;      // Highest that arrived in this life of the coordinator.
    Timestamp heard;
    bool draining = false;
    std::map<std::uint32_t, Token> occupied;  // By its latest sync.
    std::uint32_t slots = 0;
    std::vector<std::string> devices;  // Of its slots.
    std::uint64_t acknowledged = 0;    // Of its row.
    bool held = false;                 // Of its row.
    bool in_a_job = false;             // By its latest sync. The same for the next.
    std::string job{};
  };
  // Something that people turn on and off.
  struct Switch {
    bool on = false;  // As decided last in this life of the coordinator.
    bool stored[2] = {true,
                      false};  // The values its row may have: those stored at the start, and those decided.
    std::uint64_t decisions = 0;

    std::uint64_t Decide(bool to) {
      stored[to ? 1 : 0] = true;
      on = to;
      return ++decisions;
    }
    void Restart(bool row) {
      on = row;
      stored[row ? 1 : 0] = true;
      stored[row ? 0 : 1] = false;
    }
  };
  struct Execution {
    std::string incarnation;
    Token token = 0;
    bool ends_with_lease = false;  // By a sound clock.
  };

  struct Verdict {
    std::int64_t id = 0, sweep = 0, stage = 0, token = 0, bracket = 0, rung = 0, others = 0;
    double value = 0;
    bool prune = false;
    std::optional<double> threshold{};
  };

  void Must(bool holds, const std::string& what) {
    if (!holds) world_.Violate(what);
  }
  void OnChange(const std::string& table, std::int64_t row);
  void ReadSweep(std::int64_t id);
  void ReadStage(std::int64_t id);
  void CheckDataOfStage(std::int64_t id);
  void CheckDataOfTrial(std::int64_t id, std::int64_t sweep);
  void ReadTrial(std::int64_t id);
  void ReadAttempt(std::int64_t token);
  bool ReadMeasurement(std::int64_t id);  // False: it is gone.
  void ReadArtifact(std::int64_t id);
  void ReadWorker(std::int64_t row);
  void ReadPruningDecision(std::int64_t id);
  void ReadTrialPruning(std::int64_t trial);
  void CheckSweepHours(const std::string& name, std::int64_t sweep) const;
  void JudgeAgain(const Verdict& verdict);
  void ReadChanged();
  void ReadFate(std::int64_t stage, const std::string& fate);
  void CheckFates();
  void CheckMeasurementsGone(const std::set<std::int64_t>& rows);
  void CheckChange(const Caller& caller, const std::string& name, const absl::Status& outcome);
  // Each trial of an edited sweep is where its labels place it.
  void CheckPoints(std::int64_t id, const SweepRow& sweep);
  void CheckLease(const std::string& name, const std::string& worker, std::int64_t sweep, std::uint32_t slot,
                  const v1::WorkerSync* sync) const;
  void CheckDesired(const std::string& incarnation, const v1::CoordinatorSync& answer);
  void CheckNewAttempt(std::int64_t token, AttemptRow& attempt);
  void CheckEnded(std::int64_t token, const AttemptRow& attempt);
  void CheckWhole();
  void CheckAcknowledged(const std::string& incarnation, WorkerView& worker, std::uint64_t sequence);
  std::set<std::int64_t> NeededBy(std::int64_t stage) const;
  void CheckStoredEvent(Token token, const std::string& mark, const char* what);
  // How often the retry counts of a stage may have been reset.
  std::uint64_t AskedFor(std::int64_t stage);
  Emission* FindByMark(Token token, const std::string& mark);

  World& world_;
  std::set<std::string> drained_jobs_;
  SQLite::Database* connection_ = nullptr;
  std::unique_ptr<Statements> sql_;
  std::map<std::string, std::set<std::int64_t>> changed_;  // Table -> rows of the open transaction.

  // As the store has it.
  std::map<std::int64_t, SweepRow> sweeps_;
  std::map<std::int64_t, StageRow> stages_;
  std::map<std::int64_t, TrialRow> trials_;
  std::map<std::int64_t, AttemptRow> attempts_;
  // Trials that run the stage, and those whose training starts from it.
  std::map<std::int64_t, std::set<std::int64_t>> trials_of_stage_;
  std::set<std::int64_t> live_;                        // Tokens.
  std::map<std::int64_t, std::int64_t> measurements_;  // -> token.
  std::set<std::int64_t> artifacts_, decisions_;
  std::map<std::int64_t, Switch> removals_;
  std::map<std::string, std::int64_t> requests_;  // request_id -> sweep, of rows.

  std::map<std::string, WorkerView> workers_;
  std::map<std::pair<Token, std::string>, std::pair<std::string, std::uint64_t>> by_mark_;  // -> emission.
  std::map<std::string, std::vector<Execution>> executing_;                                 // By stage.
  std::set<std::string> paused_;
  bool fresh_ = false;                            // The sync that is looked at now is not out of date.
  std::map<std::string, std::string> told_;       // request_id -> sweep.
  std::map<std::string, std::uint64_t> retries_;  // Sweep or trial -> how often it was asked for.
  std::set<std::pair<std::int64_t, std::string>> final_of_;  // (token, digest) of final checkpoints.
  std::set<std::string> paths_;                              // Of stored checkpoints.
  std::map<Token, std::string> granted_;                     // Decided in this life of the coordinator.
  Timestamp started_;                                        // Of the coordinator.
  std::vector<std::string> worker_ids_;
  std::set<std::string> listening_;
  std::set<Token> yielding_;  // Asked to yield, as decided.
  std::map<std::int64_t, Switch> pauses_;
  std::map<std::string, Switch> holds_;
  std::map<std::string, std::string> answers_;   // Request id -> what left.
  std::map<std::int64_t, std::uint64_t> edits_;  // Asked for, of a sweep.
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::vector<double>>
      rungs_;  // (sweep, bracket, rung) -> values.
  std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::int64_t, std::int64_t>>
      judged_;                                             // (sweep, stage) -> (bracket, rung).
  std::set<std::pair<std::int64_t, std::int64_t>> prune_;  // (sweep, stage) that a verdict was to prune.
  std::map<std::int64_t, std::string> pruned_;             // Trial -> PRUNED or KEPT.
  std::map<std::int64_t, Timestamp> submitted_;            // Sweep -> when its submission was decided.
  std::map<Token, Timestamp> granted_at_;  // Live attempts of this life of the coordinator, as decided.
};

struct Oracle::SweepRow {
  std::string state;
  std::int64_t points = 0, trials = 0, next_point = 0;
  std::int64_t max_parallel = 0, max_crashes = 0, max_out_of_memory = 0, max_losses = 0;
  std::string request_id, owner;
  std::set<std::int64_t> trial_ids;
  std::uint64_t reopens = 0;
  bool paused = false, removed = false, freed = false;
  std::int64_t revision = 0;
  // Before the latest transaction that changed the row.
  std::int64_t before = 0, max_parallel_before = 0;
  // Name and labels of each axis; none where points are drawn.
  std::vector<std::pair<std::string, std::vector<std::string>>> axes;
  v1::PruningSpec pruning;
  std::set<std::int64_t> processes;  // Of an attempt, in any revision.
  // The longest that ever was allowed: an edit may lower what has passed already. None: it was unlimited once.
  std::optional<double> attempt_hours, sweep_hours;

  void Allow(const v1::LimitsSpec& limits, bool first) {
    const auto allow = [first](std::optional<double>& most, bool has, double hours) {
      most = !has || (!first && !most) ? std::nullopt : std::optional(std::max(most.value_or(0), hours));
    };
    allow(attempt_hours, limits.has_attempt_hours(), limits.attempt_hours());
    allow(sweep_hours, limits.has_sweep_hours(), limits.sweep_hours());
  }
};
struct Oracle::StageRow {
  std::string kind, state, checkpoint;
  std::string fate = "WHOLE";
  std::int64_t train = 0, start = 0, result_token = 0;
  std::int64_t attempts = 0;

  bool IsFreed() const { return fate == "FREED" || fate == "EMPTY"; }
  // Failed attempts since it was made or reopened, by class.
  std::int64_t crashes = 0, out_of_memory = 0, losses = 0, invalid = 0;
  std::uint64_t resets = 0;
};
struct Oracle::TrialRow {
  std::int64_t sweep = 0, train = 0, evaluate = 0;
  std::string state;
  std::uint64_t reopens = 0;
  std::optional<std::int64_t> point;  // None: withdrawn.
  bool was_withdrawn = false;         // Before the transaction that is looked at.
  std::map<std::string, std::string> labels;
};
struct Oracle::AttemptRow {
  std::int64_t stage = 0, number = 0, slot = 0, charged = 0;
  std::int64_t gpu_thousandths = 0, memory_mib = 0;  // Asked for by each process; 0: its slot's part.
  std::vector<std::int64_t> further_slots;

  std::vector<std::int64_t> Slots() const {
    std::vector<std::int64_t> slots = further_slots;
    slots.insert(slots.begin(), slot);
    return slots;
  }
  std::string worker, outcome, failure, message, yields;
  bool ended = false;
  std::uint64_t last_sequence = 0;  // Of its measurements.
};

}  // namespace inlier

#endif  // INLIER_TESTS_SIMULATION_ORACLE_H_
