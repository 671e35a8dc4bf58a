// The state of the worker's attempts and checks of data, as every sync to the coordinator has it.
//
// Thread safety: all functions on any thread; they wait for each other only.
#ifndef INLIER_WORKER_ATTEMPT_BOARD_H_
#define INLIER_WORKER_ATTEMPT_BOARD_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "inlier/v1/worker_service.pb.h"
#include "worker/gpus/device_readings.h"

namespace inlier {

class AttemptBoard {
 public:
  // `slots`: of every rank, rank 0's first.
  void Add(std::uint64_t token, const std::string& stage_id, const std::vector<std::uint32_t>& slots) {
    const std::lock_guard lock(mutex_);
    v1::AttemptReport& report = reports_[token];
    report.set_token(token);
    report.set_stage_id(stage_id);
    report.set_slot(slots.at(0));
    report.mutable_further_slots()->Assign(slots.begin() + 1, slots.end());
  }
  void SetProgress(std::uint64_t token, const v1::Progress& progress) {
    const std::lock_guard lock(mutex_);
    if (const auto found = reports_.find(token); found != reports_.end())
      *found->second.mutable_progress() = progress;
  }
  void SetStopping(std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    if (const auto found = reports_.find(token); found != reports_.end()) found->second.set_stopping(true);
  }
  void Remove(std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    reports_.erase(token);
  }
  // The digests that the coordinator asked for, as far as they are found.
  void SetDataChecked(std::map<std::uint64_t, v1::DataChecked> checked) {
    const std::lock_guard lock(mutex_);
    data_checked_ = std::move(checked);
  }
  // They go with one sync.
  void SetDevices(const DeviceReadings& readings) {
    const std::lock_guard lock(mutex_);
    devices_ = readings;
  }
  // Why no trial can be started; empty: it can.
  void SetTrouble(const std::string& why) {
    const std::lock_guard lock(mutex_);
    trouble_ = why;
  }
  void SetDraining() {
    const std::lock_guard lock(mutex_);
    draining_ = true;
  }

  // Adds `attempts`, `data_checked`, `draining`, `trouble` and, once, the latest readings of the devices.
  void Fill(v1::WorkerSync& sync) {
    const std::lock_guard lock(mutex_);
    for (const auto& [token, report] : reports_) *sync.add_attempts() = report;
    for (const auto& [token, checked] : data_checked_) *sync.add_data_checked() = checked;
    for (v1::DeviceReading& reading : devices_.gpus) *sync.add_gpus() = std::move(reading);
    if (devices_.machine) *sync.mutable_machine() = *std::move(devices_.machine);
    devices_ = {};
    if (draining_) sync.set_draining(true);
    if (!trouble_.empty()) sync.set_trouble(trouble_);
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, v1::AttemptReport> reports_;
  std::map<std::uint64_t, v1::DataChecked> data_checked_;
  DeviceReadings devices_;  // Not sent yet.
  bool draining_ = false;
  std::string trouble_;
};

}  // namespace inlier

#endif  // INLIER_WORKER_ATTEMPT_BOARD_H_
