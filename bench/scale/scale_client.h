// Shared by the modes of scale_load: connections, sweeps, and a worker that uses unary calls.
#ifndef INLIER_BENCH_SCALE_SCALE_CLIENT_H_
#define INLIER_BENCH_SCALE_SCALE_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "inlier/v1/sweep_service.grpc.pb.h"
#include "inlier/v1/worker_service.grpc.pb.h"
#include "rpc/rpc.h"

namespace inlier {

// Prints the reason to stderr and ends the program with 1.
[[noreturn]] void Die(const std::string& message);

// A connection of its own (gRPC would share one between channels to the same address) that is tried again
// every few milliseconds.
std::shared_ptr<grpc::Channel> OwnConnection(const std::string& address);

// A sweep of BERT trainings; `axes` are seed, batch size and other fields in turn, each with `values` values
// from `first` on. REQUIRES: 1 to 4 axes.
v1::SweepSpec GridSweep(const std::string& name, int axes, std::uint32_t values, std::uint32_t first = 1);

// Submits, and returns the answer and the time it took; ends the program when it is refused.
struct TimedSubmission {
  v1::SubmitSweepResponse response;
  double milliseconds = 0;
};
TimedSubmission Submit(v1::SweepService::Stub& stub, const v1::SweepSpec& sweep);

// A worker that holds its leases and reports them by unary calls. Not thread-safe.
class HandWorker {
 public:
  // `tokens`: what it holds already.
  HandWorker(const std::string& address, std::string incarnation, std::uint32_t slots,
             std::vector<std::uint64_t> tokens = {});

  // One sync, waiting until the coordinator is there. What the answer desires is held from then on.
  v1::CoordinatorSync Sync(const std::vector<v1::NumberedEvent>& events = {});
  const std::vector<std::uint64_t>& tokens() const { return tokens_; }
  const std::string& incarnation() const { return incarnation_; }

 private:
  std::unique_ptr<v1::WorkerService::Stub> stub_;
  const std::string incarnation_;
  const std::uint32_t slots_;
  std::vector<std::uint64_t> tokens_;
  std::uint64_t sync_id_;
};

}  // namespace inlier

#endif  // INLIER_BENCH_SCALE_SCALE_CLIENT_H_
