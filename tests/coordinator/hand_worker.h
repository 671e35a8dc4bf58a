// Messages of a worker, and a worker that a test leads by hand.
#ifndef INLIER_TESTS_COORDINATOR_HAND_WORKER_H_
#define INLIER_TESTS_COORDINATOR_HAND_WORKER_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/store/ids.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/worker_service.pb.h"

namespace inlier {

inline v1::TrialEvent OutcomeEvent(v1::Outcome::Kind kind) {
  v1::TrialEvent event;
  event.mutable_outcome()->set_kind(kind);
  return event;
}

inline v1::TrialEvent FailureEvent(v1::FailureClass failure, const std::string& message) {
  v1::TrialEvent event = OutcomeEvent(v1::Outcome::FAILED);
  event.mutable_outcome()->set_failure(failure);
  event.mutable_outcome()->set_message(message);
  return event;
}

// It ran out of memory of the machine; `peak_mib` 0: not measured.
inline v1::TrialEvent OutOfMemoryEvent(std::uint64_t peak_mib) {
  v1::TrialEvent event = FailureEvent(v1::OUT_OF_MEMORY, "too large");
  if (peak_mib > 0) event.mutable_outcome()->set_peak_memory_mib(peak_mib);
  return event;
}

inline v1::TrialEvent CheckpointEvent(std::uint64_t step, bool final, char digit = 'a') {
  v1::TrialEvent event;
  v1::CheckpointSaved& saved = *event.mutable_checkpoint();
  saved.set_step(step);
  saved.set_path(final ? "model.safetensors" : "step-" + std::to_string(step) + ".safetensors");
  saved.set_sha256(std::string(64, digit));
  saved.set_bytes(1000);
  saved.set_final(final);
  return event;
}

inline v1::TrialEvent StartedEvent(const std::string& dataset_digest) {
  v1::TrialEvent event;
  event.mutable_started()->set_dataset_digest(dataset_digest);
  return event;
}

inline v1::TrialEvent MeasurementEvent(const std::string& name, double value, bool final) {
  v1::TrialEvent event;
  v1::MeasurementPoint& point = *event.mutable_measurement();
  point.set_name(name);
  point.set_value(value);
  point.set_step(100);
  point.set_final(final);
  return event;
}

// A worker's side of the protocol, by hand.
class HandWorker {
 public:
  HandWorker(std::string incarnation, std::uint32_t slots) : slots_(slots) {
    sync_.set_incarnation(incarnation);
    sync_.set_name("worker-" + incarnation);
    sync_.set_host("here");
    sync_.set_version("1.0");
  }

  // Its next sync: everything it runs, every event that is not acknowledged.
  v1::WorkerSync Sync() {
    v1::WorkerSync sync = sync_;
    sync.set_sync_id(++sync_id_);
    for (std::uint32_t i = 0; i < slots_; ++i) {
      v1::Slot& slot = *sync.add_slots();
      slot.set_index(i);
      slot.set_device(device_);
      slot.set_threads(1);
      if (device_memory_mib_ > 0) slot.set_device_memory_mib(device_memory_mib_);
    }
    for (const auto& [token, assignment] : running_) {
      v1::AttemptReport& report = *sync.add_attempts();
      report.set_token(token);
      report.set_stage_id(assignment.stage_id());
      report.set_slot(assignment.slot());
      *report.mutable_further_slots() = assignment.further_slots();
      *report.mutable_progress() = progress_[token];
    }
    for (const v1::NumberedEvent& event : outbox_) *sync.add_events() = event;
    for (const auto& [token, checked] : checked_) *sync.add_data_checked() = checked;
    return sync;
  }

  // Takes an answer: forgets acknowledged events, starts and stops attempts.
  void Take(const v1::CoordinatorSync& reply) {
    std::erase_if(outbox_, [&](const v1::NumberedEvent& event) {
      return event.sequence() <= reply.acknowledged_sequence();
    });
    std::map<Token, v1::Assignment> desired;
    for (const v1::Assignment& assignment : reply.desired()) desired[assignment.token()] = assignment;
    std::erase_if(running_, [&](const auto& entry) { return !desired.contains(entry.first); });
    for (const auto& [token, assignment] : desired) {
      if (!finished_.contains(token)) running_.emplace(token, assignment);
    }
    std::map<Token, v1::DataChecked> checked;
    for (const v1::DataCheck& check : reply.check_data()) {
      v1::DataChecked& answer = checked[check.token()];
      answer.set_token(check.token());
      if (check_data_) check_data_(check, answer);
    }
    checked_ = std::move(checked);
  }

  // How it answers checks of data; without this with the digest of attempts that report none.
  void CheckData(std::function<void(const v1::DataCheck&, v1::DataChecked&)> check) {
    check_data_ = std::move(check);
  }
  const std::map<Token, v1::DataChecked>& checked() const { return checked_; }

  // `event` of the attempt `token` goes to the outbox; an outcome ends the attempt here.
  void Emit(Token token, const v1::TrialEvent& event) {
    v1::NumberedEvent& numbered = outbox_.emplace_back();
    numbered.set_sequence(++sequence_);
    numbered.set_token(token);
    *numbered.mutable_event() = event;
    if (event.has_outcome()) {
      finished_.insert(token);
      running_.erase(token);
    }
  }

  // The attempt ends well: with its model, or with a measurement.
  void Finish(Token token) {
    if (running_.at(token).kind() == v1::TRAIN_STAGE) {
      Emit(token, CheckpointEvent(100, true));
    } else {
      Emit(token, MeasurementEvent("perplexity", 12.5, true));
    }
    Emit(token, OutcomeEvent(v1::Outcome::SUCCEEDED));
  }

  std::vector<Token> tokens() const {
    std::vector<Token> tokens;
    for (const auto& [token, assignment] : running_) tokens.push_back(token);
    return tokens;
  }

  // All its attempts end well; how many they are.
  std::size_t FinishAll() {
    const std::vector<Token> tokens = this->tokens();
    for (const Token token : tokens) Finish(token);
    return tokens.size();
  }

  void SetProgress(Token token, const std::string& phase, std::uint64_t step) {
    progress_[token].set_phase(phase);
    progress_[token].set_step(step);
    progress_[token].set_steps_total(100);
    progress_[token].set_rate(10);
  }

  // A transfer whose tries fail; nothing of it has come.
  void SetTrouble(Token token, const std::string& phase, const std::string& trouble) {
    progress_[token].Clear();
    progress_[token].set_phase(phase);
    progress_[token].set_trouble(trouble);
  }

  // All its slots are on one GPU with so much memory (0: not reported).
  void ShareGpu(std::uint64_t memory_mib) {
    device_ = "cuda:0";
    device_memory_mib_ = memory_mib;
  }

  v1::WorkerSync& fields() { return sync_; }
  const std::map<Token, v1::Assignment>& running() const { return running_; }
  const std::vector<v1::NumberedEvent>& outbox() const { return outbox_; }

 private:
  v1::WorkerSync sync_;
  std::uint32_t slots_;
  std::string device_ = "cpu";
  std::uint64_t device_memory_mib_ = 0;
  std::uint64_t sync_id_ = 0;
  std::uint64_t sequence_ = 0;
  std::map<Token, v1::Assignment> running_;
  std::map<Token, v1::Progress> progress_;
  std::set<Token> finished_;
  std::vector<v1::NumberedEvent> outbox_;
  std::function<void(const v1::DataCheck&, v1::DataChecked&)> check_data_ =
      [](const v1::DataCheck&, v1::DataChecked& answer) { answer.set_digest(std::string(64, '0')); };
  std::map<Token, v1::DataChecked> checked_;
};

// The token of the one attempt that runs on a worker.
inline Token OnlyToken(const HandWorker& worker) {
  EXPECT_EQ(worker.running().size(), 1u);
  return worker.running().empty() ? 0 : worker.running().begin()->first;
}

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_HAND_WORKER_H_
