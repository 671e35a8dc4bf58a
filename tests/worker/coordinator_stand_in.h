// A coordinator for tests of the worker: a real gRPC server on port 0 with the protocol's rules and switches
// to break them.
//
// It remembers every sync, keeps each event once (by incarnation and number), acknowledges what it has, and
// tells each worker what it should run: what was assigned, less what has had an outcome.
//
// Thread safety: every function on any thread.
#ifndef INLIER_TESTS_WORKER_COORDINATOR_STAND_IN_H_
#define INLIER_TESTS_WORKER_COORDINATOR_STAND_IN_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/service/rpc.h"
#include "inlier/v1/worker_service.grpc.pb.h"

namespace inlier {

class CoordinatorStandIn final : public v1::WorkerService::Service {
 public:
  struct Settings {
    std::uint32_t ttl_ms = 15000;
    std::uint32_t next_sync_ms = 200;
    std::string version = {};  // Empty: takes every worker.
    bool streams = true;       // False: Session answers UNIMPLEMENTED, as a proxy may.
  };
  explicit CoordinatorStandIn(Settings settings, const std::string& address = "127.0.0.1:0");
  ~CoordinatorStandIn() override;

  const std::string& address() const { return server_.address; }

  void Assign(const v1::Assignment& assignment);
  void Withdraw(std::uint64_t token, const std::string& reason);
  // Assigns and says so at once on the open stream, unasked. REQUIRES: there is one.
  void Push(const v1::Assignment& assignment);
  // Takes syncs and answers nothing, as a network that swallows packets.
  void SetSilent(bool silent);
  // Takes events and commits nothing, as with a full disk.
  void SetCommitting(bool committing);

  struct State {
    std::vector<v1::WorkerSync> syncs;
    std::vector<v1::NumberedEvent> events;              // Each once, in the order of arrival.
    std::map<std::string, std::uint64_t> acknowledged;  // By incarnation.
    std::map<std::uint64_t, v1::Outcome> outcomes;      // By token.
    std::uint64_t doubled = 0;                          // Events that came again.
    int sessions = 0, unary = 0;

    std::vector<v1::TrialEvent> EventsOf(std::uint64_t token) const;
    // An empty one before the first.
    v1::WorkerSync last() const { return syncs.empty() ? v1::WorkerSync() : syncs.back(); }
  };
  // Waits until `ready` holds, at most a minute; whether it does.
  bool WaitFor(const std::function<bool(const State&)>& ready);
  bool WaitForOutcome(std::uint64_t token) {
    return WaitFor([token](const State& state) { return state.outcomes.count(token) > 0; });
  }
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
  std::mutex write_mutex_;                                                           // Taken before mutex_.
  grpc::ServerReaderWriter<v1::CoordinatorSync, v1::WorkerSync>* stream_ = nullptr;  // Under write_mutex_.
  bool silent_ = false;
  bool committing_ = true;
  ListeningServer server_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_WORKER_COORDINATOR_STAND_IN_H_
