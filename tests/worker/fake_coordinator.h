// A coordinator for tests of the worker: a real gRPC server on port 0 with the protocol's rules and switches
// to break them.
//
// It records every sync, keeps each event once (by incarnation and number), acknowledges the kept events, and
// desires the assigned attempts without an outcome.
//
// Thread safety: every function on any thread.
#ifndef INLIER_TESTS_WORKER_FAKE_COORDINATOR_H_
#define INLIER_TESTS_WORKER_FAKE_COORDINATOR_H_

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "inlier/v1/worker_service.grpc.pb.h"
#include "rpc/rpc.h"

namespace inlier {

class FakeCoordinator final : public v1::WorkerService::Service {
 public:
  struct Settings {
    std::uint32_t ttl_ms = 15000;
    std::uint32_t next_sync_ms = 200;
    std::string version = {};  // Empty: takes every worker.
    bool streams = true;       // False: Session answers UNIMPLEMENTED, as a proxy may.
  };
  explicit FakeCoordinator(Settings settings, const std::string& address = "127.0.0.1:0");
  ~FakeCoordinator() override;

  const std::string& address() const { return server_.address; }

  void Assign(const v1::Assignment& assignment);
  void Withdraw(std::uint64_t token, const std::string& reason);
  // Assigns and pushes at once on the open stream. REQUIRES: there is one.
  void Push(const v1::Assignment& assignment);
  // Asks for these digests from now on.
  void CheckData(std::vector<v1::DataCheck> checks);
  // Records syncs and answers none, as a network that drops the answers.
  void SetSilent(bool silent);
  // Answers without taking events, as with a full disk.
  void SetCommitting(bool committing);
  // The database that answers name; none before.
  void SetDatabase(const std::string& id);

  struct State {
    std::vector<v1::WorkerSync> syncs;
    std::vector<v1::NumberedEvent> events;              // Each once, in the order of arrival.
    std::map<std::string, std::uint64_t> acknowledged;  // By incarnation.
    std::map<std::uint64_t, v1::Outcome> outcomes;      // By token.
    std::uint64_t doubled = 0;                          // Events received again.
    int sessions = 0, unary = 0;

    std::vector<v1::TrialEvent> EventsOf(std::uint64_t token) const;
    // The SHA-256 of its last checkpoint; empty where it has none.
    std::string CheckpointOf(std::uint64_t token) const;
    // An empty one before the first.
    v1::WorkerSync last() const { return syncs.empty() ? v1::WorkerSync() : syncs.back(); }
  };
  // Waits until `ready` returns true, at most a minute; the last value.
  bool WaitFor(const std::function<bool(const State&)>& ready);
  bool WaitForOutcome(std::uint64_t token) {
    return WaitFor([token](const State& state) { return state.outcomes.count(token) > 0; });
  }
  // Waits for the outcome; the test fails where none comes.
  v1::Outcome OutcomeOf(std::uint64_t token);
  v1::Outcome Run(const v1::Assignment& assignment);  // The same, once it is assigned.
  // Waits for so many further syncs.
  bool WaitForSyncs(std::size_t count);
  State state() const;

  grpc::Status Session(grpc::ServerContext* context,
                       grpc::ServerReaderWriter<v1::CoordinatorSync, v1::WorkerSync>* stream) override;
  grpc::Status Sync(grpc::ServerContext* context, const v1::WorkerSync* sync,
                    v1::CoordinatorSync* answer) override;

 private:
  grpc::Status Answer(const v1::WorkerSync& sync, v1::CoordinatorSync& answer, bool& silent);

  const Settings settings_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_;
  std::map<std::uint64_t, v1::Assignment> desired_;
  std::map<std::uint64_t, std::string> withdrawn_;
  std::vector<v1::DataCheck> checks_;
  std::mutex write_mutex_;                                                           // Taken before mutex_.
  grpc::ServerReaderWriter<v1::CoordinatorSync, v1::WorkerSync>* stream_ = nullptr;  // Under write_mutex_.
  bool silent_ = false;
  bool committing_ = true;
  std::string database_id_;
  ListeningServer server_;
};

testing::AssertionResult Succeeded(const v1::Outcome& outcome);

// A TRAIN assignment of `steps` steps.
v1::Assignment TrainAssignment(std::uint64_t token, std::uint32_t steps = 10, std::uint32_t slot = 0);
v1::Assignment EvaluateAssignment(std::uint64_t token, const std::string& checkpoint_sha256,
                                  std::uint32_t slot = 0);

}  // namespace inlier

#endif  // INLIER_TESTS_WORKER_FAKE_COORDINATOR_H_
