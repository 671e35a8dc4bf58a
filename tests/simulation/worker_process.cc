#include "tests/simulation/worker_process.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kEventsPerSync = 6;
// Of a worker that ends: for so long it tries to deliver what its children reported.
constexpr Duration kDeliveryWait = seconds(10);

// Most workers' attempts run on for longer than any trouble lasts; some for a while, some not at all.
Duration DrawHold(Random& random) {
  if (random.PerMille(200)) return Duration(0);
  return random.PerMille(200) ? random.Between(seconds(1), seconds(120)) : Duration(std::chrono::hours(24));
}

}  // namespace

WorkerProcess::WorkerProcess(World& world, Oracle& oracle, CoordinatorProcess& coordinator,
                             const std::string& name, const std::string& incarnation)
    : world_(world),
      oracle_(oracle),
      coordinator_(coordinator),
      link_(world),
      name_(name),
      incarnation_(incarnation),
      hold_(DrawHold(world.random())),
      lease_(hold_) {
  Random& random = world_.random();
  slots_ = static_cast<std::uint32_t>(1 + random.Below(world_.plan().gangs ? 3 : 2));
  spread_ = world_.plan().gangs && random.PerMille(500);
  if (world_.plan().gangs && name == "w0") slots_ = 3, spread_ = true;  // There every gang fits.
  ordered_ = random.PerMille(600);
  keeps_artifacts_ = random.PerMille(500);
  // The margin of 1 s in 16 forgives a clock that is slow by a twentieth. Others lie.
  const bool lies = random.PerMille(100);
  rate_ppm_ = lies ? 200'000 + random.Below(3'000'000) : 950'000 + random.Below(100'000);
  sound_clock_ = rate_ppm_ >= 940'000;
  clock_base_ = random.Between(seconds(0), seconds(100'000));
  slowness_ = random.PerMille(200) ? 6 : 1;
  if (random.PerMille(100)) link_.set_longest_copy(std::chrono::hours(1));
}

Timestamp WorkerProcess::Local() const {
  const std::int64_t us = world_.now().since_start.count() / 1000;
  return {clock_base_ + Duration(us * rate_ppm_ / 1000)};
}

void WorkerProcess::Start() {
  world_.Note(absl::StrCat("worker ", incarnation_, " starts, slots ", slots_,
                           ordered_ ? ", stream" : ", calls", ", clock ", rate_ppm_ / 1000, " per mille"));
  heartbeat_at_ = world_.now();
  if (job_) job_->ends = Local() + job_->job.length;
  WakeAt(world_.now());
}

void WorkerProcess::WakeAt(Timestamp at) {
  wake_at_ = at;
  world_.At(at, [this, waking = ++wakings_] {
    if (waking == wakings_) Wake();
  });
}

void WorkerProcess::Wake() {
  if (!alive_) return;
  if (Frozen()) return WakeAt(frozen_until_);
  if (Hangs()) return WakeAt(hangs_until_);
  oracle_.Resumes(incarnation_);
  CheckLease();
  CheckJob();
  for (auto& [token, child] : children_) {
    for (const auto& [event, sound] : child.unread) Number(token, event, sound);
    child.unread.clear();
  }
  for (auto at = children_.begin(); at != children_.end();) {
    const Token token = at->first;
    const bool over = (at->second.ends && world_.now() >= *at->second.ends) || finished_.contains(token);
    ++at;
    if (over) EndAsTold(token);
  }
  if (Ending() && children_.empty() && (outbox_.empty() || world_.now() - job_->since >= kDeliveryWait))
    return Exit();
  const Duration patience = lease_.end() ? lease_.ttl() / 2 : Duration(seconds(5));
  if (!unanswered_.empty() && world_.now() - unanswered_.begin()->second.at >= patience) Reconnect();
  if (coordinator_.up() && coordinator_.life() != life_seen_) Reconnect();
  const bool news = sequence_ > sent_through_ && !outbox_.empty();
  if ((news && unanswered_.empty()) || world_.now() >= heartbeat_at_) Send();
  const Duration nap = world_.random().Between(milliseconds(60), milliseconds(600)) * slowness_;
  Timestamp next =
      std::min(heartbeat_at_, world_.now() + (children_.empty() && outbox_.empty() ? nap * 8 : nap * 2));
  // Its lease's clock wakes it, too.
  if (lease_.NextChange(Local()) && !children_.empty()) {
    const Duration left = *lease_.NextChange(Local()) - Local();
    next = std::min(next,
                    world_.now() + Duration(left.count() / 1000 * 1'000'000 / rate_ppm_ * 1000 + 1'000'000));
  }
  WakeAt(std::max(next, world_.now() + milliseconds(1)));
}

// As worker/agent.cc.
void WorkerProcess::CheckLease() {
  const LeaseGuard::State state = lease_.StateAt(Local());
  if (std::exchange(lease_state_, state) == state || children_.empty()) return;
  switch (state) {
    case LeaseGuard::State::kIdle:
    case LeaseGuard::State::kHeld:
      break;
    case LeaseGuard::State::kAway:
      world_.Note(absl::StrCat("worker ", incarnation_, " has lost its lease"));
      world_.Count("leases lost, attempts run on");
      break;
    case LeaseGuard::State::kEnding:
      world_.Count(hold_ > Duration(0) ? "holds that were over" : "leases about to end");
      AskAllToEnd();
      break;
    case LeaseGuard::State::kOver:
      world_.Note(absl::StrCat("worker ", incarnation_, " ends its attempts with its lease"));
      world_.Count("leases lost, attempts ended");
      while (!children_.empty()) EndChild(children_.begin()->first);
      break;
  }
}

void WorkerProcess::AskAllToEnd() {
  for (auto& [token, child] : children_) AskToEnd(child);
}

void WorkerProcess::AskToEnd(Child& child) {
  if (child.ends) return;
  child.ends = world_.now() + world_.random().Between(milliseconds(0), seconds(2));
  child.yields = world_.random().PerMille(600);
}

void WorkerProcess::Reconnect() {
  ++call_;
  EndStream();
  if (ordered_) stream_ = std::make_shared<Stream>(*this, call_);
  life_seen_ = coordinator_.life();
  unanswered_.clear();
  sent_through_ = acknowledged_;
  link_.Renew();
  heartbeat_at_ = world_.now();
}

// The coordinator hears of it at once, or when the connection is given up.
void WorkerProcess::EndStream() {
  if (!stream_) return;
  const Duration heard = world_.Chance(300) ? world_.random().Between(seconds(1), seconds(30))
                                            : world_.random().Between(milliseconds(0), milliseconds(5));
  world_.After(heard, [this, ended = std::move(stream_), life = life_seen_] {
    if (coordinator_.up() && coordinator_.life() == life) coordinator_.Unlisten(incarnation_, ended.get());
  });
  stream_.reset();
}

void WorkerProcess::Stream::Push(std::uint64_t heard, v1::CoordinatorSync push) {
  if (heard != syncs) {
    worker.world_.Count("pushes overtaken by a sync");
    return;
  }
  worker.link_.Send(Link::Way::kReply, /*ordered=*/true,
                    [this_worker = &worker, call = call, push = std::move(push)] {
                      if (this_worker->alive_ && call == this_worker->call_) this_worker->OnAnswer(push);
                    });
}

v1::WorkerSync WorkerProcess::State() const {
  v1::WorkerSync sync;
  sync.set_incarnation(incarnation_);
  sync.set_name(name_);
  sync.set_host("host");
  sync.set_version("1.0");
  sync.set_draining(draining_);
  sync.set_memory_mib(kMachineMib);
  sync.set_keeps_artifacts(keeps_artifacts_);
  for (std::uint32_t i = 0; i < slots_; ++i) {
    v1::Slot& slot = *sync.add_slots();
    slot.set_index(i);
    slot.set_device(spread_ ? absl::StrCat("cuda:", i) : "cuda:0");
    slot.set_device_memory_mib(4000);
    slot.set_threads(1);
  }
  for (const auto& [token, child] : children_) {
    if (finished_.contains(token)) continue;
    v1::AttemptReport& report = *sync.add_attempts();
    report.set_token(token);
    report.set_stage_id(child.assignment.stage_id());
    report.set_slot(child.assignment.slot());
    *report.mutable_further_slots() = child.assignment.further_slots();
    report.set_stopping(child.ends.has_value());
    report.mutable_progress()->set_phase("train");
    report.mutable_progress()->set_step(child.step);
    report.mutable_progress()->set_steps_total(kSteps);
  }
  for (const auto& [token, checked] : checks_) {
    if (checked.has_token()) *sync.add_data_checked() = checked;
  }
  if (job_) FillJob(sync);
  return sync;
}

void WorkerProcess::Send() {
  v1::WorkerSync sync = State();
  sync.set_sync_id(++sync_id_);
  sync.set_events_after(sent_through_);
  Sent sent{world_.now(), 0};
  for (const auto& [event, sound] : outbox_) {
    if (event.sequence() <= sent_through_) continue;
    if (static_cast<std::size_t>(sync.events_size()) == kEventsPerSync) break;
    *sync.add_events() = event;
    sent.last_sequence = event.sequence();
  }
  if (sent.last_sequence > 0) sent_through_ = sent.last_sequence;
  unanswered_[sync_id_] = sent;
  lease_.OnSent(sync_id_, Local());
  const bool idle = children_.empty() && outbox_.empty();
  heartbeat_at_ = world_.now() + (idle ? world_.random().Between(milliseconds(300), seconds(4))
                                       : world_.random().Between(milliseconds(4500), milliseconds(5000)));
  link_.Send(Link::Way::kRequest, ordered_, [this, sync = std::move(sync), call = call_] {
    const auto arrive = [this, sync, call] {
      if (coordinator_.up()) SyncArrives(sync, call);
    };
    if (coordinator_.stalled_until() > world_.now()) {
      world_.At(coordinator_.stalled_until(), arrive);
    } else {
      arrive();
    }
  });
}

void WorkerProcess::SyncArrives(const v1::WorkerSync& sync, std::uint64_t call) {
  // A message on a stream that is not the worker's any more: the coordinator may not know that.
  const std::shared_ptr<Stream> stream = ordered_ && call == call_ ? stream_ : nullptr;
  const std::uint64_t number = stream ? ++stream->syncs : 0;
  coordinator_.Sync(sync, ordered_, [this, call, stream, number](absl::StatusOr<v1::CoordinatorSync> reply) {
    if (!reply.ok()) return;
    world_.Trace(reply->SerializeAsString());
    link_.Send(Link::Way::kReply, ordered_, [this, call, answer = *std::move(reply)] {
      // On a stream the answer belongs to the call; a single call's answer may be late.
      if (alive_ && (call == call_ || !ordered_)) OnAnswer(answer);
    });
    if (!stream) return;
    // Answered, it waits; unless the next sync is there already.
    world_.After(world_.random().Between(Duration(0), milliseconds(2)),
                 [this, stream, number, life = coordinator_.life()] {
                   if (!coordinator_.up() || coordinator_.life() != life || stream->syncs != number) return;
                   coordinator_.Listen(incarnation_, {stream, number});
                 });
  });
}

void WorkerProcess::OnAnswer(const v1::CoordinatorSync& answer) {
  if (Frozen() || Hangs()) {  // It waits in the socket.
    world_.At(std::max(frozen_until_, hangs_until_), [this, answer] {
      if (alive_) OnAnswer(answer);
    });
    return;
  }
  const std::uint64_t id = answer.sync_id();
  if (id < last_answered_) return;
  if (answer.pushed()) return Obey(answer);
  last_answered_ = id;
  lease_.OnAnswered(id, milliseconds(answer.lease_ttl_ms()));
  while (!outbox_.empty() && outbox_.front().first.sequence() <= answer.acknowledged_sequence())
    outbox_.pop_front();
  acknowledged_ = std::max(acknowledged_, answer.acknowledged_sequence());
  std::uint64_t carried = 0;
  while (!unanswered_.empty() && unanswered_.begin()->first <= id) {
    carried = std::max(carried, unanswered_.begin()->second.last_sequence);
    unanswered_.erase(unanswered_.begin());
  }
  if (carried > answer.acknowledged_sequence()) sent_through_ = answer.acknowledged_sequence();
  Obey(answer);
}

// Its orders, asked for or not.
void WorkerProcess::Obey(const v1::CoordinatorSync& answer) {
  CheckLease();
  std::set<Token> desired;
  for (const v1::Assignment& assignment : answer.desired()) desired.insert(assignment.token());
  for (auto& [token, child] : children_) {
    if (!desired.contains(token)) AskToEnd(child);
  }
  std::set<Token> asked;
  for (const v1::DataCheck& check : answer.check_data()) {
    asked.insert(check.token());
    if (!checks_.try_emplace(check.token()).second) continue;
    world_.After(world_.random().Between(milliseconds(10), seconds(2)) * slowness_,
                 [this, token = check.token()] { CheckData(token); });
  }
  std::erase_if(checks_, [&](const auto& check) { return !asked.contains(check.first); });
  if (lease_.StateAt(Local()) != LeaseGuard::State::kHeld || Ending()) return;
  for (const v1::Assignment& assignment : answer.desired()) {
    if (!children_.contains(assignment.token()) && !finished_.contains(assignment.token()))
      StartChild(assignment);
  }
}

void WorkerProcess::CheckData(Token token) {
  const auto check = checks_.find(token);
  if (!alive_ || check == checks_.end() || check->second.has_token()) return;
  if (Frozen() || Hangs()) {
    world_.At(std::max(frozen_until_, hangs_until_), [this, token] { CheckData(token); });
    return;
  }
  v1::DataChecked& checked = check->second;
  checked.set_token(token);
  if (world_.Chance(100)) {
    checked.set_problem("the disk is away");
  } else {
    checked.set_digest(world_.DataOn(name_));
  }
  world_.Count("data checked");
  heartbeat_at_ = world_.now();
}

void WorkerProcess::Kill(WorkerProcess* heir) {
  world_.Note(absl::StrCat("worker ", incarnation_, " is killed"));
  while (!children_.empty()) EndChild(children_.begin()->first);
  alive_ = false;
  EndStream();
  if (heir == nullptr) return;
  for (const auto& [event, sound] : outbox_) heir->Number(event.token(), event.event(), sound);
}

void WorkerProcess::Hang(Duration for_long) {
  world_.Note(absl::StrCat("worker ", incarnation_, " hangs"));
  hangs_until_ = world_.now() + for_long;
  oracle_.Pauses(incarnation_);  // It keeps no rules meanwhile.
}

void WorkerProcess::Pause(Duration for_long) {
  world_.Note(absl::StrCat("worker ", incarnation_, " pauses"));
  frozen_until_ = world_.now() + for_long;
  oracle_.Pauses(incarnation_);
}

void WorkerProcess::Calm() {
  frozen_until_ = hangs_until_ = Timestamp{};
  draining_ = Ending();
  link_.Mend();
  slowness_ = 1;
  WakeAt(world_.now() + milliseconds(1));
}

}  // namespace inlier
