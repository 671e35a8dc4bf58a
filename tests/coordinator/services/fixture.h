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

  void StartCoordinator() {
    auto started =
        Coordinator::Start(Config(), [](absl::Status status) { ADD_FAILURE() << "fatal: " << status; });
    ASSERT_TRUE(started.ok()) << started.status();
    coordinator_ = *std::move(started);
    channel_ = PlainChannel(coordinator_->grpc_address());
    sweeps_ = v1::SweepService::NewStub(channel_);
    workers_ = v1::WorkerService::NewStub(channel_);
  }

  void Restart() {
    coordinator_.reset();
    StartCoordinator();
  }

  v1::SubmitSweepResponse Submit(const v1::SweepSpec& sweep, const std::string& request_id = "") {
    v1::SubmitSweepRequest request;
    *request.mutable_sweep() = sweep;
    request.set_request_id(request_id);
    v1::SubmitSweepResponse response;
    grpc::ClientContext context;
    const grpc::Status status = sweeps_->SubmitSweep(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
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

  v1::SweepStatus GetSweep(const std::string& sweep) {
    v1::GetSweepRequest request;
    request.set_sweep(sweep);
    v1::SweepStatus response;
    grpc::ClientContext context;
    const grpc::Status status = sweeps_->GetSweep(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  // The whole answer to GET `path`.
  std::string Get(const std::string& path) {
    const auto address = ParseAddress(coordinator_->http_address(), "http_listen");
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

  // Runs everything that is ready by unary syncs until nothing is left.
  void RunAll(HandWorker& worker) {
    for (int round = 0; round < 1000; ++round) {
      Sync(worker);
      if (worker.running().empty() && worker.outbox().empty()) return;
      std::vector<Token> tokens;
      for (const auto& [token, assignment] : worker.running()) tokens.push_back(token);
      for (const Token token : tokens) worker.Finish(token);
    }
    FAIL() << "it does not end";
  }

  TemporaryFolder folder_;
  v1::HooksConfig hooks_;  // Of the next start. The same for the next.
  std::optional<v1::FleetConfig> fleet_;
  std::unique_ptr<Coordinator> coordinator_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::SweepService::Stub> sweeps_;
  std::unique_ptr<v1::WorkerService::Stub> workers_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_SERVICES_FIXTURE_H_
