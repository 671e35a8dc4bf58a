#include "tests/simulation/oracle.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/simulation/coordinator_process.h"

namespace inlier {
Oracle::Emission* Oracle::FindByMark(Token token, const std::string& mark) {
  const auto at = by_mark_.find({token, mark});
  if (at == by_mark_.end()) return nullptr;
  return &workers_.at(at->second.first).emitted.at(at->second.second - 1);
}

std::uint64_t Oracle::AskedFor(std::int64_t stage) {
  std::uint64_t asked = 0;
  std::set<std::int64_t> sweeps;
  for (const std::int64_t trial : trials_of_stage_[stage]) {
    asked += 1 + retries_[TrialId(trial).ToString()];
    sweeps.insert(trials_[trial].sweep);
  }
  for (const std::int64_t sweep : sweeps) asked += retries_[SweepId(sweep).ToString()];
  return asked;
}

std::set<std::int64_t> Oracle::NeededBy(std::int64_t stage) const {
  std::set<std::int64_t> sweeps;
  const auto trials = trials_of_stage_.find(stage);
  if (trials == trials_of_stage_.end()) return sweeps;
  for (const std::int64_t id : trials->second) {
    const TrialRow& trial = trials_.at(id);
    if (!IsTerminalName(trial.state)) sweeps.insert(trial.sweep);
  }
  return sweeps;
}

void Oracle::CheckNewAttempt(std::int64_t token, AttemptRow& attempt) {
  const std::string name = absl::StrCat("attempt ", token, " of stage ", attempt.stage);
  StageRow& stage = stages_[attempt.stage];
  Must(attempts_.rbegin()->first == token, absl::StrCat(name, ": its token is not above all earlier ones"));
  ++stage.attempts;
  Must(attempt.number == stage.attempts,
       absl::StrCat(name, ": it is number ", attempt.number, " and not ", stage.attempts));
  const WorkerView& worker = workers_[attempt.worker];
  std::set<std::string> devices;
  for (const std::int64_t slot : attempt.Slots()) {
    Must(worker.slots > slot, absl::StrCat(name, ": its worker has no such slot"));
    if (static_cast<std::size_t>(slot) < worker.devices.size())
      Must(devices.insert(worker.devices[static_cast<std::size_t>(slot)]).second,
           absl::StrCat(name, ": two of its processes share a GPU"));
  }
  const auto processes = static_cast<std::int64_t>(attempt.Slots().size());
  Must(stage.kind == "EVALUATE_STAGE" ? processes == 1
                                      : sweeps_[attempt.charged].processes.contains(processes),
       absl::StrCat(name, " has ", processes, " processes, which its sweep does not ask for"));
  if (processes > 1) world_.Count("attempts of several processes");
  // An evaluation needs its training's checkpoint, a training that of the one it starts from.
  if (const std::int64_t source = stage.kind == "EVALUATE_STAGE" ? stage.train : stage.start; source != 0) {
    const StageRow& train = stages_[source];
    Must(train.state == "SUCCEEDED" || final_of_.contains({train.result_token, train.checkpoint}) ||
             changed_["stage"].contains(source),
         absl::StrCat(name, ": the checkpoint of stage ", source, ", which it needs, is not stored"));
    Must(train.fate == "WHOLE", absl::StrCat(name, ": stage ", source, ", which it needs, is ", train.fate));
    if (stage.kind == "TRAIN_STAGE") world_.Count("trainings started from another");
  }
  std::int64_t crashes = 0, out_of_memory = 0, losses = 0;
  for (const std::int64_t trial : trials_of_stage_[attempt.stage]) {
    const SweepRow& sweep = sweeps_[trials_[trial].sweep];
    crashes = std::max(crashes, sweep.max_crashes);
    out_of_memory = std::max(out_of_memory, sweep.max_out_of_memory);
    losses = std::max(losses, sweep.max_losses);
  }
  const bool within = (stage.crashes == 0 || stage.crashes < crashes) &&
                      (stage.out_of_memory == 0 || stage.out_of_memory < out_of_memory) &&
                      (stage.losses == 0 || stage.losses < losses) && stage.invalid == 0;
  Must(within || AskedFor(attempt.stage) > stage.resets + 1,
       absl::StrCat(name, ": tried again after ", stage.crashes, " crashes, ", stage.out_of_memory,
                    " without memory, ", stage.losses, " losses"));
  live_.insert(token);
  const std::set<std::int64_t>& wanting = trials_of_stage_[attempt.stage];
  const bool of_its_sweep = std::any_of(wanting.begin(), wanting.end(), [&](std::int64_t trial) {
    return trials_[trial].sweep == attempt.charged;
  });
  Must(of_its_sweep,
       absl::StrCat(name, ": charged to sweep ", attempt.charged, ", which has no trial on it"));
  if (!of_its_sweep) return;
  const SweepRow& sweep = sweeps_.at(attempt.charged);
  const auto running = std::count_if(live_.begin(), live_.end(), [&](std::int64_t live) {
    return attempts_.at(live).charged == attempt.charged;
  });
  // An edit of this transaction may be later than the lease: then the limit before it counts, too.
  const bool edited =
      changed_["sweep"].contains(attempt.charged) && sweep.before > 0 && sweep.before != sweep.revision;
  const bool looser = edited && (sweep.revision > sweep.before + 1 || sweep.max_parallel_before == 0 ||
                                 running <= sweep.max_parallel_before);
  Must(sweep.max_parallel == 0 || running <= sweep.max_parallel || looser,
       absl::StrCat(name, ": sweep ", attempt.charged, " runs ", running, " at once, max_parallel is ",
                    sweep.max_parallel));
  const OrchestratorOptions options = CoordinatorProcess::Options();
  const v1::CallerLimits* limits = options.LimitsOf(sweep.owner);
  if (limits == nullptr) return;
  const auto of_owner = std::count_if(live_.begin(), live_.end(), [&](std::int64_t live) {
    return sweeps_.at(attempts_.at(live).charged).owner == sweep.owner;
  });
  Must(of_owner <= limits->max_parallel(),
       absl::StrCat(name, ": the sweeps of ", sweep.owner, " run ", of_owner, " at once, the limit is ",
                    limits->max_parallel()));
}

void Oracle::CheckEnded(std::int64_t token, const AttemptRow& attempt) {
  StageRow& stage = stages_[attempt.stage];
  const std::string name = absl::StrCat("attempt ", token);
  if (attempt.failure == "OUT_OF_MEMORY") {
    ++stage.out_of_memory;
  } else if (attempt.failure == "PREEMPTED" && !attempt.yields.empty()) {
    world_.Count("attempts preempted");  // Nothing is counted against it.
    // Its job may end before it has yielded.
    const bool with_its_job =
        workers_[attempt.worker].in_a_job && attempt.message.ends_with(", and its job has ended");
    Must(with_its_job || attempt.message.starts_with(attempt.yields),
         absl::StrCat(name, " has the message ", attempt.message, ", and yielded because ", attempt.yields));
  } else if (attempt.failure == "PREEMPTED" && workers_[attempt.worker].in_a_job) {
    world_.Count("attempts ended with their jobs");  // The same: the engine decides how often that happens.
  } else if (attempt.failure == "LOST" || attempt.failure == "PREEMPTED" ||
             attempt.failure == "SICK_DEVICE") {
    ++stage.losses;
  } else if (attempt.failure == "INVALID_SPEC") {
    ++stage.invalid;
  } else if (attempt.failure == "OTHER_DATA") {
    world_.Count("attempts with other data");  // The worker's matter.
  } else if (!attempt.failure.empty()) {
    ++stage.crashes;
  }
  if (attempt.failure == "TIMED_OUT" && !attempt.yields.empty()) world_.Count("attempts over their time");
  if (attempt.failure == "CRASHED") {
    const Emission* emission = FindByMark(static_cast<Token>(token), attempt.message);
    Must(emission != nullptr && emission->kind == v1::TrialEvent::kOutcome,
         absl::StrCat(name, " counts as crashed (", attempt.message, "), and its worker did not report it"));
  }
  if (attempt.outcome != "SUCCEEDED" && attempt.outcome != "DIVERGED") return;
  const Emission* emission = FindByMark(static_cast<Token>(token), attempt.message);
  Must(emission != nullptr && emission->kind == v1::TrialEvent::kOutcome && emission->sound,
       absl::StrCat(name, " is ", attempt.outcome, ", and no worker reported it"));
  if (emission == nullptr) return;
  Must(by_mark_.at({static_cast<Token>(token), attempt.message}).first == attempt.worker,
       absl::StrCat(name, ": its outcome is another worker's"));
}

// The measurement or checkpoint is that of a worker with the live token, for the first time.
void Oracle::CheckStoredEvent(Token token, const std::string& mark, const char* what) {
  Emission* emission = FindByMark(token, mark);
  const std::string name = absl::StrCat(what, " ", mark, " of attempt ", token);
  if (emission == nullptr) return Must(false, absl::StrCat(name, ": no worker reported it"));
  Must(emission->sound, absl::StrCat(name, ": it was not to be believed"));
  Must(!emission->stored, absl::StrCat(name, " is stored twice"));
  emission->stored = true;
  const auto attempt = attempts_.find(static_cast<std::int64_t>(token));
  if (attempt == attempts_.end()) return;  // It began in the same transaction.
  Must(!attempt->second.ended, absl::StrCat(name, ": its token is stale"));
  Must(by_mark_.at({token, mark}).first == attempt->second.worker,
       absl::StrCat(name, ": it is another worker's"));
  Must(emission->sequence > attempt->second.last_sequence || what[0] != 'm',
       absl::StrCat(name, ": out of order"));
  if (what[0] == 'm') attempt->second.last_sequence = emission->sequence;
}

// Rules for several rows.
void Oracle::CheckWhole() {
  CheckFates();
  std::map<std::int64_t, std::int64_t> of_stage;
  std::set<std::pair<std::string, std::int64_t>> slots;
  std::map<std::pair<std::string, std::string>, std::int64_t> gpus;  // Thousandths, by worker and device.
  std::map<std::string, std::int64_t> memories;                      // MiB.
  for (const std::int64_t token : live_) {
    const AttemptRow& attempt = attempts_.at(token);
    Must(++of_stage[attempt.stage] == 1, absl::StrCat("stage ", attempt.stage, " has two live attempts"));
    const WorkerView& worker = workers_[attempt.worker];
    const std::int64_t slots_here = std::max<std::int64_t>(1, worker.slots);
    for (const std::int64_t slot : attempt.Slots()) {
      Must(slots.emplace(attempt.worker, slot).second,
           absl::StrCat("slot ", slot, " of worker ", attempt.worker, " has two live attempts"));
      const std::string device = static_cast<std::size_t>(slot) < worker.devices.size()
                                     ? worker.devices[static_cast<std::size_t>(slot)]
                                     : "cuda:0";
      const std::int64_t sharing =
          std::max<std::int64_t>(1, std::count(worker.devices.begin(), worker.devices.end(), device));
      std::int64_t& gpu = gpus[{attempt.worker, device}];
      std::int64_t& memory = memories[attempt.worker];
      gpu += attempt.gpu_thousandths > 0 ? attempt.gpu_thousandths : 1000 / sharing;
      memory += attempt.memory_mib > 0 ? attempt.memory_mib : kMachineMib / slots_here;
      Must(gpu <= 1000 && memory <= kMachineMib,
           absl::StrCat("worker ", attempt.worker, " is given ", gpu, " thousandths of its GPU and ", memory,
                        " of ", kMachineMib, " MiB"));
    }
    Must(stages_[attempt.stage].state == "PENDING",
         absl::StrCat("attempt ", token, " is live, and its stage is ", stages_[attempt.stage].state));
    Must(!NeededBy(attempt.stage).empty(),
         absl::StrCat("attempt ", token, " is live, and no trial needs it"));
  }
  for (const auto& [id, stage] : stages_) {
    Must(stage.state != "PENDING" || trials_of_stage_[id].empty() || !NeededBy(id).empty(),
         absl::StrCat("stage ", id, " is PENDING, and no trial needs it"));
  }
  for (const auto& [id, sweep] : sweeps_) {
    if (sweep.state == "COMPLETE") {
      const auto withdrawn = std::count_if(sweep.trial_ids.begin(), sweep.trial_ids.end(),
                                           [this](std::int64_t trial) { return !trials_.at(trial).point; });
      Must(static_cast<std::int64_t>(sweep.trial_ids.size()) - withdrawn == sweep.trials,
           absl::StrCat("sweep ", id, " is COMPLETE without all its trials"));
    }
    if (sweep.revision > 1) CheckPoints(id, sweep);
    Must(!sweep.removed || sweep.state != "ACTIVE", absl::StrCat("sweep ", id, " is removed and ACTIVE"));
    if (sweep.state == "ACTIVE") continue;
    for (const std::int64_t trial : sweep.trial_ids) {
      Must(sweep.state != "COMPLETE" || IsTerminalName(trials_.at(trial).state),
           absl::StrCat("sweep ", id, " is COMPLETE, and trial ", trial, " is ", trials_.at(trial).state));
    }
  }
}

void Oracle::CoordinatorStarts(bool reopened) {
  if (reopened) ReadAll();
  started_ = world_.now();
  granted_.clear();
  granted_at_.clear();
  for (auto& [incarnation, worker] : workers_) {
    worker.sync_id = 0;
    worker.occupied.clear();
  }
  listening_.clear();
  yielding_.clear();
  for (const std::int64_t token : live_) {
    granted_[static_cast<Token>(token)] = attempts_.at(token).worker;
    if (!attempts_.at(token).yields.empty()) yielding_.insert(static_cast<Token>(token));
  }
  drained_jobs_.clear();
  for (const auto& [id, sweep] : sweeps_) {
    pauses_[id].Restart(sweep.paused);
    removals_[id].Restart(sweep.removed);
  }
  for (const std::string& worker : worker_ids_) holds_[worker].Restart(workers_[worker].held);
}

void Oracle::SyncArrives(const v1::WorkerSync& sync) {
  listening_.erase(sync.incarnation());
  WorkerView& worker = workers_[sync.incarnation()];
  fresh_ = sync.sync_id() > worker.sync_id || world_.now() - worker.heard > std::chrono::hours(1);
  if (!fresh_) return;
  worker.sync_id = sync.sync_id();
  worker.heard = world_.now();
  worker.draining = sync.draining();
  worker.in_a_job = sync.has_job();
  worker.job = sync.job();
  worker.occupied.clear();
  for (const v1::AttemptReport& report : sync.attempts()) {
    worker.occupied[report.slot()] = report.token();
    for (const std::uint32_t slot : report.further_slots()) worker.occupied[slot] = report.token();
  }
  worker.devices.clear();
  for (const v1::Slot& slot : sync.slots()) worker.devices.push_back(slot.device());
}

void Oracle::SubmitDecided(const Effects& effects) {
  for (const Change& change : effects.changes.changes) {
    if (const auto* sweep = std::get_if<inlier::SweepRow>(&change))
      submitted_[sweep->id.value()] = world_.now();
  }
}

void Oracle::Decided(const Effects& effects, const v1::WorkerSync* sync, bool takes_leases) {
  const Duration term = CoordinatorProcess::Options().lease_ttl + CoordinatorProcess::Options().lease_margin;
  for (const Change& change : effects.changes.changes) {
    if (const auto* started = std::get_if<inlier::AttemptRow>(&change)) {
      granted_[started->token] = started->worker;
      granted_at_[started->token] = world_.now();
      CheckSweepHours(absl::StrCat("lease ", started->token), started->sweep.value());
      const std::string name = absl::StrCat("lease ", started->token);
      Must(!drained_jobs_.contains(workers_[started->worker].job),
           absl::StrCat(name, " for a worker whose job is drained"));
      Must(takes_leases, absl::StrCat(name, ", though the store has no room for it"));
      CheckLease(name, started->worker, started->sweep.value(), started->slot, sync);
      for (const std::uint32_t slot : started->further_slots)
        CheckLease(name, started->worker, started->sweep.value(), slot, sync);
    } else if (const auto* yields = std::get_if<AttemptYields>(&change)) {
      yielding_.insert(yields->token);
    } else if (const auto* ended = std::get_if<AttemptEnded>(&change)) {
      const Timestamp heard = workers_[granted_[ended->token]].heard;
      const Duration silent = world_.now() - std::max(heard, started_);
      granted_at_.erase(ended->token);
      if (ended->failure == v1::LOST) {
        Must(silent >= term, absl::StrCat("attempt ", ended->token, " is given up ",
                                          silent.count() / 1'000'000, " ms after its worker was heard"));
      } else if (ended->failure == v1::STALLED && sync == nullptr) {
        Must(silent < term,
             absl::StrCat("attempt ", ended->token, " counts as stalled, and its worker is silent"));
      }
    }
  }
}

void Oracle::CheckAcknowledged(const std::string& incarnation, WorkerView& worker, std::uint64_t sequence) {
  for (; worker.checked < std::min<std::uint64_t>(sequence, worker.emitted.size()); ++worker.checked) {
    const Emission& event = worker.emitted[worker.checked];
    if (!event.sound || event.stored) continue;
    const auto at = attempts_.find(static_cast<std::int64_t>(event.token));
    if (at == attempts_.end() || at->second.worker != incarnation) continue;  // Not its token.
    const AttemptRow& attempt = at->second;
    const std::string name =
        absl::StrCat("event ", event.sequence, " of worker ", incarnation, " (attempt ", event.token, ")");
    if (!attempt.ended) {
      Must(event.kind != v1::TrialEvent::kMeasurement && event.kind != v1::TrialEvent::kCheckpoint &&
               event.kind != v1::TrialEvent::kOutcome,
           absl::StrCat(name, " is acknowledged and not stored"));
      continue;
    }
    if (event.kind != v1::TrialEvent::kMeasurement && event.kind != v1::TrialEvent::kCheckpoint) continue;
    // A later event has ended its attempt: its earlier events were accepted, too.
    const Emission* outcome = FindByMark(event.token, attempt.message);
    Must(outcome == nullptr || outcome->sequence < event.sequence,
         absl::StrCat(name, " is acknowledged and not stored, though its attempt ended later"));
  }
}

void Oracle::ReplyLeaves(const v1::WorkerSync& sync, const v1::CoordinatorSync& reply) {
  const std::string& incarnation = sync.incarnation();
  WorkerView& worker = workers_[incarnation];
  Must(reply.acknowledged_sequence() <= worker.acknowledged,
       absl::StrCat("worker ", incarnation, " receives an acknowledgement of event ",
                    reply.acknowledged_sequence(), "; stored is ", worker.acknowledged));
  CheckAcknowledged(incarnation, worker, reply.acknowledged_sequence());
  CheckDesired(incarnation, reply);
}

void Oracle::CheckDesired(const std::string& incarnation, const v1::CoordinatorSync& answer) {
  std::set<std::uint32_t> slots;
  for (const v1::Assignment& desired : answer.desired()) {
    const std::string name = absl::StrCat("worker ", incarnation, " receives lease ", desired.token());
    const auto at = attempts_.find(static_cast<std::int64_t>(desired.token()));
    if (at == attempts_.end()) {
      Must(false, absl::StrCat(name, ", which is not stored"));
      continue;
    }
    Must(at->second.worker == incarnation && StageId(at->second.stage).ToString() == desired.stage_id(),
         absl::StrCat(name, ", which is another's"));
    Must(slots.insert(desired.slot()).second, absl::StrCat(name, ": its slot is named twice"));
    for (const std::uint32_t slot : desired.further_slots())
      Must(slots.insert(slot).second, absl::StrCat(name, ": its slot is named twice"));
    if (desired.kind() == v1::EVALUATE_STAGE) {
      Must(stages_[stages_[at->second.stage].train].checkpoint == desired.checkpoint_sha256(),
           absl::StrCat(name, " with a checkpoint that is not its training's"));
    }
    Must(desired.resume_path().empty() || paths_.contains(desired.resume_path()),
         absl::StrCat(name, " that continues from a checkpoint that is not stored"));
    for (const v1::EarlierCheckpoint& earlier : desired.earlier())
      Must(paths_.contains(earlier.path()),
           absl::StrCat(name, " that may continue from one that is not stored"));
  }
}

void Oracle::SubmitAnswered(const v1::SubmitSweepRequest& request, const Caller& caller,
                            const v1::SubmitSweepResponse& response) {
  const auto at = told_.emplace(request.request_id(), response.sweep_id()).first;
  Must(at->second == response.sweep_id(), absl::StrCat("request ", request.request_id(), " became ",
                                                       at->second, " and then ", response.sweep_id()));
  const auto sweep = SweepId::Parse(response.sweep_id());
  Must(sweep && sweeps_.contains(sweep->value()) &&
           sweeps_.at(sweep->value()).request_id == request.request_id(),
       absl::StrCat("sweep ", response.sweep_id(), " is acknowledged and not stored"));
  Must(OwnerOf(response.sweep_id()) == caller.name,
       absl::StrCat("sweep ", response.sweep_id(), " of ", caller.name, " belongs to ",
                    OwnerOf(response.sweep_id())));
}

void Oracle::SweepCancelled(const std::string& id, std::uint64_t asked_before) {
  const auto sweep = SweepId::Parse(id);
  if (!sweep || !sweeps_.contains(sweep->value()))
    return Must(false, absl::StrCat(id, " was cancelled and is not stored"));
  if (Asked(id) != asked_before) return;
  Must(sweeps_.at(sweep->value()).state != "ACTIVE", absl::StrCat(id, " was cancelled and is ACTIVE"));
  for (const std::int64_t trial : sweeps_.at(sweep->value()).trial_ids) {
    Must(IsTerminalName(trials_.at(trial).state),
         absl::StrCat(id, " was cancelled and its trial ", trial, " is ", trials_.at(trial).state));
  }
}

std::uint64_t Oracle::Asked(const std::string& sweep) {
  std::uint64_t asked = retries_[sweep];
  const auto id = SweepId::Parse(sweep);
  if (id && sweeps_.contains(id->value())) {
    asked += edits_[id->value()];
    for (const std::int64_t trial : sweeps_.at(id->value()).trial_ids)
      asked += retries_[TrialId(trial).ToString()];
  }
  return asked;
}

// Results only become more: what was shown is stored.
void Oracle::SweepShown(const v1::SweepStatus& status) {
  const auto sweep = SweepId::Parse(status.sweep_id());
  if (!sweep || !sweeps_.contains(sweep->value()))
    return Must(false, absl::StrCat(status.sweep_id(), " is shown and not stored"));
  std::uint64_t succeeded = 0, diverged = 0;
  for (const std::int64_t trial : sweeps_.at(sweep->value()).trial_ids) {
    if (trials_.at(trial).state == "SUCCEEDED") ++succeeded;
    if (trials_.at(trial).state == "DIVERGED") ++diverged;
  }
  Must(status.trials().succeeded() <= succeeded && status.trials().diverged() <= diverged,
       absl::StrCat(status.sweep_id(), " is shown with results that are not stored"));
}

void Oracle::Emitted(const std::string& incarnation, const v1::NumberedEvent& event, bool sound) {
  Emission emission{event.sequence(), event.token(), event.event().event_case(), "", sound, false};
  const v1::TrialEvent& what = event.event();
  if (what.has_measurement()) {
    emission.mark = absl::StrCat(static_cast<std::int64_t>(what.measurement().value()));
  } else if (what.has_checkpoint()) {
    emission.mark = what.checkpoint().sha256();
  } else if (what.has_outcome()) {
    emission.mark = what.outcome().message();
  }
  if (!emission.mark.empty()) {
    by_mark_.emplace(std::pair(emission.token, emission.mark), std::pair(incarnation, event.sequence()));
  }
  workers_[incarnation].emitted.push_back(std::move(emission));
}

void Oracle::Begins(const std::string& incarnation, Token token, const std::string& stage, bool sound_clock,
                    bool ends_with_lease) {
  const auto attempt = attempts_.find(static_cast<std::int64_t>(token));
  Must(!sound_clock || attempt == attempts_.end() || attempt->second.failure != "LOST",
       absl::StrCat("worker ", incarnation, " starts attempt ", token, ", whose lease ran out"));
  executing_[stage].push_back({incarnation, token, sound_clock && ends_with_lease});
}

void Oracle::Ends(const std::string& incarnation, Token token) {
  for (auto at = executing_.begin(); at != executing_.end();) {
    std::erase_if(at->second,
                  [&](const Execution& e) { return e.token == token && e.incarnation == incarnation; });
    at = at->second.empty() ? executing_.erase(at) : std::next(at);
  }
}

// An attempt that was cancelled, or counts as stalled, runs until its worker hears of it. One whose lease ran
// out must have ended by then where attempts end with the lease.
void Oracle::Executes(const std::string& incarnation, Token token, const std::string& stage) {
  const auto at = executing_.find(stage);
  if (at == executing_.end() || at->second.size() < 2) return;
  const auto self = std::find_if(at->second.begin(), at->second.end(), [&](const Execution& e) {
    return e.token == token && e.incarnation == incarnation;
  });
  if (self == at->second.end()) return;
  for (const Execution& other : at->second) {
    if (other.token == token || paused_.contains(other.incarnation)) continue;
    const Execution& older = other.token < token ? other : *self;
    const auto attempt = attempts_.find(static_cast<std::int64_t>(older.token));
    if (!older.ends_with_lease || attempt == attempts_.end()) continue;
    Must(attempt->second.ended && attempt->second.failure != "LOST",
         absl::StrCat(stage, " runs as attempt ", token, " on ", incarnation, " and as attempt ", other.token,
                      " on ", other.incarnation, " at the same time"));
  }
}

std::vector<std::string> Oracle::trial_ids() const {
  std::vector<std::string> ids;
  for (const auto& [id, trial] : trials_) ids.push_back(TrialId(id).ToString());
  return ids;
}

bool Oracle::AllOver() const {
  return std::all_of(sweeps_.begin(), sweeps_.end(),
                     [](const auto& entry) { return entry.second.state != "ACTIVE"; }) &&
         std::all_of(trials_.begin(), trials_.end(),
                     [](const auto& entry) { return IsTerminalName(entry.second.state); });
}

void Oracle::CheckEnd() {
  ReadAll();
  for (const auto& [request, sweep] : told_) {
    Must(requests_.contains(request), absl::StrCat("request ", request, " was acknowledged and is gone"));
  }
  for (const auto& [id, sweep] : sweeps_) {
    Must(sweep.state != "ACTIVE", absl::StrCat("sweep ", id, " does not end"));
  }
  for (const auto& [id, trial] : trials_) {
    Must(IsTerminalName(trial.state), absl::StrCat("trial ", id, " does not end"));
    if (trial.state == "SUCCEEDED") {
      Must(stages_[trial.train].state == "SUCCEEDED" && stages_[trial.evaluate].state == "SUCCEEDED",
           absl::StrCat("trial ", id, " SUCCEEDED without its stages"));
    }
  }
  Must(live_.empty(), "an attempt is live and nothing is left to do");
}

}  // namespace inlier
