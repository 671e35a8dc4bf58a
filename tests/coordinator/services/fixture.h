// A whole coordinator in a folder of its own, on free ports, and clients for both of its services.
#ifndef INLIER_TESTS_COORDINATOR_SERVICES_FIXTURE_H_
#define INLIER_TESTS_COORDINATOR_SERVICES_FIXTURE_H_

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "base/version.h"
#include "coordinator/process/coordinator.h"
#include "inlier/v1/sweep_service.grpc.pb.h"
#include "inlier/v1/worker_service.grpc.pb.h"
#include "rpc/rpc.h"
#include "tests/coordinator/harness.h"
#include "tests/support/plain_channel.h"

namespace inlier {

inline std::unique_ptr<Coordinator> StartedCoordinator(const v1::CoordinatorConfig& config,
                                                       Coordinator::Mode mode = Coordinator::Mode::kRun,
                                                       std::optional<FileLock> lock = std::nullopt) {
  const auto on_fatal = [](absl::Status status) { ADD_FAILURE() << "fatal: " << status; };
  return Coordinator::Start(config, on_fatal, mode, std::move(lock)).value();
}

// The whole answer to GET `path`.
inline std::string HttpGet(const std::string& server, const std::string& path) {
  const auto address = ParseAddress(server, "http_listen");
  boost::asio::io_context io;
  boost::asio::ip::tcp::socket socket(io);
  socket.connect({boost::asio::ip::make_address(address->host), address->port});
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  boost::asio::write(socket, boost::asio::buffer(request));
  std::string answer;
  boost::system::error_code error;
  boost::asio::read(socket, boost::asio::dynamic_buffer(answer), error);
  return answer;
}

class CoordinatorTest : public testing::Test {
 protected:
  void SetUp() override { StartCoordinator(); }

  v1::CoordinatorConfig Config() const {
    v1::CoordinatorConfig config;
    config.set_state_dir(folder_.path().string());
    config.set_listen("127.0.0.1:0");
    config.set_http_listen("127.0.0.1:0");
    config.set_query_program(INLIER_QUERY_PROGRAM);
    *config.mutable_hooks() = hooks_;
    if (fleet_) *config.mutable_fleet() = *fleet_;
    return config;
  }

  void StartCoordinator() { StartCoordinator(Config()); }
  void StartCoordinator(const v1::CoordinatorConfig& config, Coordinator::Mode mode = Coordinator::Mode::kRun,
                        std::optional<FileLock> lock = std::nullopt) {
    coordinator_ = StartedCoordinator(config, mode, std::move(lock));
    channel_ = PlainChannel(coordinator_->grpc_address());
    sweeps_ = v1::SweepService::NewStub(channel_);
    workers_ = v1::WorkerService::NewStub(channel_);
  }

  void Restart() {
    coordinator_.reset();
    StartCoordinator();
  }

  using Stub = v1::SweepService::Stub;
  template <typename Request, typename Response>
  using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);
  // The status of a call.
  template <typename Request, typename Response>
  grpc::Status Try(Method<Request, Response> method, const Request& request, Response* response = nullptr) {
    Response ignored;
    grpc::ClientContext context;
    return (sweeps_.get()->*method)(&context, request, response == nullptr ? &ignored : response);
  }
  // The answer to a call that succeeds.
  template <typename Request, typename Response>
  Response Call(Method<Request, Response> method, const Request& request) {
    Response response;
    const grpc::Status status = Try(method, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  v1::SubmitSweepResponse Submit(const v1::SweepSpec& sweep, const std::string& request_id = "") {
    v1::SubmitSweepRequest request;
    *request.mutable_sweep() = sweep;
    request.set_request_id(request_id);
    return Call(&Stub::SubmitSweep, request);
  }

  // A hand-made worker of this version.
  static HandWorker MakeWorker(const std::string& incarnation, std::uint32_t slots) {
    HandWorker worker(incarnation, slots);
    worker.fields().set_version(Version());
    return worker;
  }

  grpc::Status Sync(const v1::WorkerSync& sync, v1::CoordinatorSync& reply) {
    grpc::ClientContext context;
    return workers_->Sync(&context, sync, &reply);
  }
  v1::CoordinatorSync Sync(HandWorker& worker) {
    v1::CoordinatorSync reply;
    const grpc::Status status = Sync(worker.Sync(), reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    worker.Take(reply);
    return reply;
  }

  // Submits a sweep of which a new worker "w" leases the first stage.
  HandWorker Lease(const v1::SweepSpec& sweep) {
    Submit(sweep);
    HandWorker worker = MakeWorker("w", 1);
    Sync(worker);
    return worker;
  }

  v1::SweepStatus GetSweep(const std::string& sweep) {
    return Call(&Stub::GetSweep, OfSweep<v1::GetSweepRequest>(sweep));
  }

  std::string Get(const std::string& path) { return HttpGet(coordinator_->http_address(), path); }

  // Runs everything that is ready by unary syncs until nothing is left.
  void RunAll(HandWorker& worker) {
    for (int round = 0; round < 1000; ++round) {
      Sync(worker);
      if (worker.running().empty() && worker.outbox().empty()) return;
      worker.FinishAll();
    }
    FAIL() << "it does not end";
  }

  TemporaryFolder folder_;
  // Of the next start.
  v1::HooksConfig hooks_;
  std::optional<v1::FleetConfig> fleet_;
  std::unique_ptr<Coordinator> coordinator_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::SweepService::Stub> sweeps_;
  std::unique_ptr<v1::WorkerService::Stub> workers_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_SERVICES_FIXTURE_H_
