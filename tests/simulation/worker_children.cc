// A worker's children: what they report, how they end.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/simulation/worker_process.h"

namespace inlier {
namespace {

using std::chrono::milliseconds;

}  // namespace

void WorkerProcess::StartChild(const v1::Assignment& assignment) {
  const Token token = assignment.token();
  Child& child = children_[token];
  child.assignment = assignment;
  child.step = assignment.resume_step();
  oracle_.Begins(incarnation_, token, assignment.stage_id(), sound_clock_, hold_ <= Duration(0));
  world_.Note(absl::StrCat("worker ", incarnation_, " begins token ", token, " of ", assignment.stage_id()));
  ChildActs(token);
}

void WorkerProcess::EndAsTold(Token token) {
  Child& child = children_.at(token);
  if (child.yields && !finished_.contains(token)) {
    child.yields = false;
    if (child.assignment.kind() == v1::TRAIN_STAGE && child.step > 0)
      Emit(child, Checkpoint(child, false), true);
    v1::TrialEvent event = OutcomeOf(v1::Outcome::FAILED);
    event.mutable_outcome()->set_failure(v1::PREEMPTED);
    Emit(child, event, true);
  }
  EndChild(token);
}

void WorkerProcess::EndChild(Token token) {
  children_.erase(token);
  finished_.insert(token);
  oracle_.Ends(incarnation_, token);
}

void WorkerProcess::Number(Token token, const v1::TrialEvent& event, bool sound) {
  v1::NumberedEvent numbered;
  numbered.set_sequence(++sequence_);
  numbered.set_token(token);
  if (const auto child = children_.find(token); child != children_.end())
    numbered.set_stage_id(child->second.assignment.stage_id());
  *numbered.mutable_event() = event;
  oracle_.Emitted(incarnation_, numbered, sound);
  outbox_.emplace_back(std::move(numbered), sound);
}

void WorkerProcess::Emit(Child& child, v1::TrialEvent event, bool sound) {
  if (world_.Chance(100)) event.set_time_unix_ms(static_cast<std::int64_t>(world_.random().Next()) / 4);
  if (const std::int64_t skew = world_.WallSkewMs(incarnation_); skew != 0 && !event.has_time_unix_ms()) {
    const auto now = std::chrono::duration_cast<milliseconds>(world_.now().since_start);
    event.set_time_unix_ms(kWallAtStartMs + now.count() + skew);
  }
  if (Hangs()) {
    child.unread.emplace_back(std::move(event), sound);
  } else {
    Number(child.assignment.token(), event, sound);
  }
}

v1::TrialEvent WorkerProcess::OutcomeOf(v1::Outcome::Kind kind) {
  v1::TrialEvent event;
  event.mutable_outcome()->set_kind(kind);
  event.mutable_outcome()->set_message(absl::StrCat("o", world_.NewMark()));
  return event;
}

v1::TrialEvent WorkerProcess::Checkpoint(const Child& child, bool final) {
  v1::TrialEvent event;
  v1::CheckpointSaved& saved = *event.mutable_checkpoint();
  saved.set_step(child.step);
  saved.set_path(absl::StrCat("step-", child.step, ".safetensors"));
  saved.set_sha256(absl::StrFormat("%064x", world_.NewMark()));
  saved.set_bytes(1000);
  saved.set_final(final);
  return event;
}

void WorkerProcess::ChildActs(Token token) {
  if (!alive_) return;
  Random& random = world_.random();
  if (Frozen()) {
    world_.At(frozen_until_, [this, token] { ChildActs(token); });
    return;
  }
  if (!Hangs()) CheckLease();
  const auto at = children_.find(token);
  if (at == children_.end() || finished_.contains(token)) return;
  Child& child = at->second;
  if (lease_state_ == LeaseGuard::State::kAway) world_.Count("acts of attempts without a lease");
  if (!Hangs()) oracle_.Executes(incarnation_, token, child.assignment.stage_id());
  const std::uint64_t mark = world_.NewMark();
  const bool train = child.assignment.kind() == v1::TRAIN_STAGE;
  const auto measure = [&](bool final) {
    v1::TrialEvent event;
    v1::MeasurementPoint& point = *event.mutable_measurement();
    point.set_name(train ? "train_loss" : "perplexity");
    point.set_step(child.step);
    // Any order of the values, and each of its own.
    point.set_value(
        static_cast<double>(static_cast<std::uint64_t>(random.Below(1000)) * 1'000'000'000 + mark));
    point.set_final(final);
    return event;
  };
  const auto checkpoint = [&](bool final) { return Checkpoint(child, final); };
  const int what = random.Below(1000);
  const int fails = world_.calm() ? 0 : world_.plan().fails;
  if (child.stuck && !world_.calm()) {
    // Alive, and nothing comes of it.
  } else if (!child.started) {
    child.started = true;
    v1::TrialEvent event;
    event.mutable_started()->set_pid(static_cast<std::int64_t>(mark));
    event.mutable_started()->set_resumed_step(static_cast<std::uint32_t>(child.step));
    event.mutable_started()->set_dataset_digest(world_.DataOn(name_));
    Emit(child, event, true);
  } else if (what < 20 && !world_.calm()) {
    child.stuck = true;
  } else if (what < 20 + fails) {
    static constexpr v1::FailureClass kFailures[] = {v1::CRASHED,   v1::OUT_OF_MEMORY, v1::INVALID_SPEC,
                                                     v1::PREEMPTED, v1::TIMED_OUT,     v1::CRASHED};
    v1::TrialEvent event = OutcomeOf(v1::Outcome::FAILED);
    event.mutable_outcome()->set_failure(kFailures[random.Below(6)]);
    if (random.PerMille(300))
      event.mutable_outcome()->set_peak_memory_mib(static_cast<std::uint64_t>(random.Below(3000)));
    Emit(child, event, true);
    finished_.insert(token);
  } else if (what < 25 + fails && !world_.calm()) {
    Emit(child, OutcomeOf(v1::Outcome::DIVERGED), true);
    finished_.insert(token);
  } else if (what < 25 + fails + world_.plan().lies && !world_.calm()) {
    v1::TrialEvent event = random.PerMille(500) ? measure(false) : checkpoint(false);
    if (event.has_measurement()) {
      event.mutable_measurement()->set_name("no such measurement");
    } else {
      event.mutable_checkpoint()->set_path("../../elsewhere");
    }
    Emit(child, event, false);
  } else if (child.step < kSteps && train) {
    child.step = std::min(kSteps, child.step + 30);
    Emit(child, random.PerMille(400) ? checkpoint(false) : measure(false), true);
  } else if (!train && random.PerMille(500)) {
    Emit(child, measure(false), true);
  } else {
    child.step = kSteps;
    Emit(child, train ? checkpoint(true) : measure(true), true);
    Emit(child, OutcomeOf(v1::Outcome::SUCCEEDED), true);
    finished_.insert(token);
  }
  if (finished_.contains(token)) {
    if (!Hangs()) {
      EndChild(token);
      WakeAt(world_.now());
    }
    return;
  }
  world_.After(random.Between(milliseconds(200), milliseconds(2000)) * slowness_,
               [this, token] { ChildActs(token); });
}

}  // namespace inlier
