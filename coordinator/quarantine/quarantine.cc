#include "coordinator/quarantine/quarantine.h"

#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/backoff.h"
#include "base/time.h"
#include "coordinator/scheduling/placement.h"

namespace inlier {
namespace {

constexpr Backoff kProbeBackoff{.first = std::chrono::minutes(1), .longest = std::chrono::minutes(15)};

bool MayBeTheDevice(v1::FailureClass failure) {
  return failure == v1::CRASHED || failure == v1::STALLED || failure == v1::TIMED_OUT;
}

// A gang has one for each process.
std::vector<std::string> DevicesOf(const WorkerEntry& worker, const Attempt& attempt) {
  std::vector<std::string> devices = {DeviceOf(worker, attempt.assignment.slot())};
  for (const std::uint32_t slot : attempt.assignment.further_slots())
    devices.push_back(DeviceOf(worker, slot));
  return devices;
}

void Record(Context& context, const WorkerEntry& worker, const std::string& kind, std::string message) {
  context.Log(kind, " worker=", worker.name, " message=\"", message, "\"");
  context.out.changes.Add(EventRow{
      .at = context.now.wall, .kind = kind, .worker = worker.incarnation, .message = std::move(message)});
}

// Another device that takes work and does not fail.
bool AnotherWorks(const State& state, const WorkerEntry& failing, const std::string& failing_device) {
  for (const auto& [incarnation, worker] : state.workers.all()) {
    if (!worker.TakesWork()) continue;
    for (const v1::Slot& slot : worker.slots) {
      if (&worker == &failing && slot.device() == failing_device) continue;
      const auto health = worker.devices.find(slot.device());
      if (health == worker.devices.end() ||
          (!health->second.InQuarantine() && health->second.failures < kFailuresBeforeQuarantine))
        return true;
    }
  }
  return false;
}

void WaitForProbe(Context& context, WorkerEntry& worker, const std::string& device, DeviceHealth& health) {
  health.probe = 0;
  health.may_probe = false;
  health.probe_at = context.now.at + kProbeBackoff.Wait(health.probes_failed + 1, 0.5);
  context.state.deadlines.probes.emplace(health.probe_at, std::pair(worker.incarnation, device));
}

void EndQuarantine(Context& context, WorkerEntry& worker, DeviceHealths::iterator at,
                   const std::string& why) {
  const bool was_in = at->second.InQuarantine();
  const std::string device = at->first;
  worker.devices.erase(at);
  if (!was_in) return;
  SlotFreed(context.state, worker);
  Record(context, worker, "device_released",
         absl::StrCat(device, " of worker ", worker.name, " gets attempts again: ", why));
}

// All devices have failed as often: those that were the first to do so get attempts again.
void ReleaseUnproven(Context& context) {
  for (const auto& [incarnation, known] : context.state.workers.all()) {
    WorkerEntry& worker = *context.state.workers.Find(incarnation);
    for (auto at = worker.devices.begin(); at != worker.devices.end();) {
      const auto next = std::next(at);
      if (at->second.InQuarantine() && at->second.probes_failed == 0)
        EndQuarantine(context, worker, at, "attempts fail on every other device too");
      at = next;
    }
  }
}

void BeginQuarantine(Context& context, WorkerEntry& worker, const std::string& device, DeviceHealth& health,
                     v1::FailureClass failure) {
  health.reason = absl::StrCat(health.failures, " attempts in a row failed on it, the last one ",
                               v1::FailureClass_Name(failure), ", and another device works");
  ++context.state.stats.quarantines;
  WaitForProbe(context, worker, device, health);
  Record(context, worker, "device_quarantined",
         absl::StrCat(device, " of worker ", worker.name, " gets no attempts: ", health.reason,
                      "; one is tried in ", FormatDuration(health.probe_at - context.now.at),
                      "; look at its logs, and restart the worker when it is mended"));
}

// On a device in quarantine the attempt is its probe.
void BeginProbe(Context& context, Attempt& attempt) {
  WorkerEntry* const worker = context.state.workers.Find(attempt.worker);
  if (worker == nullptr || worker->devices.empty()) return;
  for (const std::string& device : DevicesOf(*worker, attempt)) {
    const auto health = worker->devices.find(device);
    if (health == worker->devices.end() || !health->second.InQuarantine()) continue;
    health->second.probe = attempt.token;
    health->second.may_probe = false;
  }
}

void DeviceEnded(Context& context, const Attempt& attempt, const AttemptEnd& end) {
  WorkerEntry* const worker = context.state.workers.Find(attempt.worker);
  if (worker == nullptr || worker->devices.empty()) return;
  for (const std::string& device : DevicesOf(*worker, attempt)) {
    const auto at = worker->devices.find(device);
    if (at == worker->devices.end()) continue;
    if (at->second.probe == attempt.token) {  // Ended without a verdict: cancelled, lost.
      at->second.probe = 0;
      at->second.may_probe = true;
    }
    if (IsResult(end.outcome)) EndQuarantine(context, *worker, at, "an attempt on it had a result");
  }
}

void StartProbes(Context& context) {
  State& state = context.state;
  auto& probes = state.deadlines.probes;
  while (!probes.empty() && probes.begin()->first <= context.now.at) {
    const auto [due, on] = probes.extract(probes.begin()).value();
    WorkerEntry* const worker = state.workers.Find(on.first);
    if (worker == nullptr) continue;  // Forgotten.
    const auto at = worker->devices.find(on.second);
    if (at == worker->devices.end() || !at->second.Blocked() || at->second.probe != 0 ||
        at->second.probe_at != due)
      continue;
    at->second.may_probe = true;
    SlotFreed(state, *worker);
  }
}

void BlameDevice(Context& context, const Attempt& attempt, v1::FailureClass& failure, std::string& message) {
  State& state = context.state;
  WorkerEntry* const worker = state.workers.Find(attempt.worker);
  if (worker == nullptr || !MayBeTheDevice(failure)) return;
  if (attempt.request.processes > 1) {
    // Which of a gang's devices it was is not known: none is blamed, and one in quarantine stays there.
    for (const std::string& device : DevicesOf(*worker, attempt)) {
      const auto health = worker->devices.find(device);
      if (health == worker->devices.end() || health->second.probe != attempt.token) continue;
      ++health->second.probes_failed;
      WaitForProbe(context, *worker, device, health->second);
    }
    return;
  }
  const std::string device = DeviceOf(*worker, attempt.assignment.slot());
  DeviceHealth& health = worker->devices[device];
  ++health.failures;
  const bool another_works = AnotherWorks(state, *worker, device);
  const std::string crashed_on = absl::StrCat(worker->incarnation, " ", device);
  Stage& stage = state.stages.at(attempt.stage);
  bool blamed = another_works && stage.detail().crashed_on == crashed_on;
  stage.edit().crashed_on = crashed_on;
  if (health.InQuarantine()) {
    blamed = another_works;
    if (health.probe == attempt.token) {
      ++health.probes_failed;
      WaitForProbe(context, *worker, device, health);
    }
  } else if (health.failures >= kFailuresBeforeQuarantine) {
    blamed = another_works;
    if (another_works)
      BeginQuarantine(context, *worker, device, health, failure);
    else
      ReleaseUnproven(context);
  }
  if (!blamed) return;
  message = absl::StrCat("by ", device, " of worker ", worker->name, ", where other attempts fail too (",
                         v1::FailureClass_Name(failure), message.empty() ? "" : ": ", message, ")");
  failure = v1::SICK_DEVICE;
}

void ExplainDevices(const WorkerEntry& worker, v1::Explanation& of) {
  for (const auto& [device, health] : worker.devices) {
    if (health.InQuarantine())
      Because(of, device, " of worker ", worker.name, " is in quarantine: ", health.reason);
  }
}

void DescribeDevices(const WorkerEntry& worker, v1::WorkerStatus& status) {
  for (const auto& [device, health] : worker.devices) {
    if (!health.InQuarantine()) continue;
    v1::QuarantinedDevice& quarantined = *status.add_quarantined();
    quarantined.set_device(device);
    quarantined.set_reason(health.reason);
    quarantined.set_probes_failed(static_cast<std::uint32_t>(health.probes_failed));
  }
}

}  // namespace

Feature Quarantine() {
  return {.due = [](const State& state) { return FirstOf(state.deadlines.probes); },
          .act = StartProbes,
          .attempt_began = BeginProbe,
          .attempt_fails = BlameDevice,
          .attempt_ended = DeviceEnded,
          .explain_worker = ExplainDevices,
          .describe_worker = DescribeDevices};
}

}  // namespace inlier
