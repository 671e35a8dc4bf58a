#include "fleet/service.h"

#include <utility>

#include "base/failpoint.h"
#include "base/log.h"
#include "base/status.h"
#include "fleet/fleet.h"
#include "fleet/status.h"

namespace inlier {

FleetService::FleetService(FleetOptions options, std::unique_ptr<Engine> engine, FleetPorts ports)
    : options_(std::move(options)), engine_(std::move(engine)), ports_(std::move(ports)) {}

FleetService::~FleetService() { Stop(); }

absl::StatusOr<std::unique_ptr<FleetService>> FleetService::Make(FleetOptions options, StoredFleet stored,
                                                                 std::unique_ptr<Engine> engine,
                                                                 FleetPorts ports) {
  std::unique_ptr<FleetService> made(
      new FleetService(std::move(options), std::move(engine), std::move(ports)));
  FleetContext context = made->Context();
  RETURN_IF_ERROR(RecoverFleet(context, made->options_, std::move(stored)));
  made->Settle(context);
  return made;
}

void FleetService::Start() {
  thread_ = std::thread([this] { Run(); });
}

void FleetService::Stop() {
  {
    const std::lock_guard lock(wake_mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  engine_->Stop();
  if (thread_.joinable()) thread_.join();
}

bool FleetService::MustStop() {
  const std::lock_guard lock(wake_mutex_);
  return stopping_;
}

absl::Status FleetService::Drain(const std::string& yield) {
  JobDrain drain = DrainOf(fleet_);
  drain.yield = yield;
  ASSIGN_OR_RETURN(view_, ports_.drain(drain));
  return absl::OkStatus();
}

FleetService::Stored FleetService::Settle(FleetContext& context) {
  for (const std::string& line : context.log) spdlog::info("{}", line);
  ports_.observe(fleet_);
  // It may be set after the service is gone.
  const auto stored = std::make_shared<std::promise<absl::Status>>();
  if (context.changes.empty()) {
    stored->set_value(absl::OkStatus());
  } else {
    ports_.store(std::move(context.changes),
                 [stored](const absl::Status& status) { stored->set_value(status); });
  }
  return stored->get_future().share();
}

absl::Status FleetService::Wait(const Stored& stored) {
  while (stored.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    if (MustStop()) return absl::UnavailableError("the coordinator is stopping");
  }
  return stored.get();
}

template <typename Call>
auto FleetService::Request(Call decide, const std::string& yield) {
  std::unique_lock lock(mutex_);
  FleetContext context = Context();
  auto response = decide(context);
  if (!response.ok()) return response;
  if (const absl::Status drained = Drain(yield); !drained.ok()) return decltype(response)(drained);
  const Stored stored = Settle(context);
  lock.unlock();
  if (const absl::Status durable = Wait(stored); !durable.ok()) return decltype(response)(durable);
  const std::lock_guard wake(wake_mutex_);
  poked_ = true;
  wake_.notify_all();
  return response;
}

absl::StatusOr<v1::SetFleetResponse> FleetService::Set(const v1::SetFleetRequest& request) {
  return Request([&](FleetContext& context) { return SetFleet(context, request, options_.new_id); });
}

absl::StatusOr<v1::ScaleFleetResponse> FleetService::Scale(const v1::ScaleFleetRequest& request) {
  return Request([&](FleetContext& context) { return ScaleFleet(context, request); });
}

absl::StatusOr<v1::StopFleetResponse> FleetService::StopFleet(const v1::StopFleetRequest& request) {
  return Request([&](FleetContext& context) { return inlier::StopFleet(context, request); },
                 request.now() ? "the fleet is stopped" : "");
}

v1::FleetStatus FleetService::Status() {
  const std::lock_guard lock(mutex_);
  static_cast<void>(Drain());  // Else what was there last.
  return StatusOfFleet(fleet_, view_, ports_.now());
}

std::vector<std::string> FleetService::Reasons() {
  const std::lock_guard lock(mutex_);
  return FleetReasons(fleet_, ports_.now());
}

absl::StatusOr<FleetStep> FleetService::Decide(const EngineLook& look) {
  std::unique_lock lock(mutex_);
  RETURN_IF_ERROR(Drain());
  FleetContext context = Context();
  FleetStep step = TakeLook(context, look);
  RETURN_IF_ERROR(Drain());
  if (!ConfirmGivenBack(context, step)) RETURN_IF_ERROR(Drain());
  const Stored stored = Settle(context);
  lock.unlock();
  RETURN_IF_ERROR(Wait(stored));
  return step;
}

void FleetService::Act(const FleetStep& step) {
  if (!step.cancel.empty()) {
    const absl::Status status = engine_->Cancel(step);
    if (MustStop()) return;
    const std::lock_guard lock(mutex_);
    FleetContext context = Context();
    TakeCancelled(context, step.cancel, status);
    if (!status.ok()) static_cast<void>(Drain());
    Settle(context);
  }
  if (!step.submit) return;
  Failpoint("fleet.submit.before");
  const Submitted submitted = engine_->Submit(step);
  Failpoint("fleet.submit.after");
  // Where the stop killed sbatch, the next start looks for the jobs.
  if (MustStop() && submitted.kind != Submitted::Kind::kTaken) return;
  const std::lock_guard lock(mutex_);
  FleetContext context = Context();
  TakeSubmitted(context, submitted);
  Settle(context);
}

std::optional<Duration> FleetService::Round() {
  constexpr Duration kDecideAgain = std::chrono::seconds(5);  // After a decision could not be stored.
  FleetStep ask;
  {
    const std::lock_guard lock(mutex_);
    if (!fleet_.row) return std::nullopt;
    ask = {.id = fleet_.row->id, .config = fleet_.config};
  }
  EngineLook look{.began = ports_.now()};
  look.jobs = engine_->List(ask);
  if (MustStop()) return kDecideAgain;
  const absl::StatusOr<FleetStep> step = Decide(look);
  if (!step.ok()) return kDecideAgain;
  Act(*step);
  // After a submission the queue is read again at once.
  return step->submit ? Duration(0) : std::chrono::seconds(step->config.look_seconds());
}

void FleetService::Run() {
  {
    const std::lock_guard lock(mutex_);
    static_cast<void>(Drain());  // From now on workers come by themselves.
  }
  for (;;) {
    const std::optional<Duration> next = Round();
    std::unique_lock lock(wake_mutex_);
    const auto ready = [this] { return stopping_ || poked_; };
    if (next) {
      wake_.wait_for(lock, *next, ready);
    } else {
      wake_.wait(lock, ready);
    }
    poked_ = false;
    if (stopping_) return;
  }
}

}  // namespace inlier
