#include "rpc/rpc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "inlier/v1/worker_service.grpc.pb.h"
#include "rpc/connection_acceptor.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using testing::HasSubstr;

class EchoService final : public v1::WorkerService::Service {
 public:
  grpc::Status Sync(grpc::ServerContext*, const v1::WorkerSync* sync, v1::CoordinatorSync* answer) override {
    answer->set_sync_id(sync->sync_id());
    return grpc::Status::OK;
  }
};

TEST(RpcStatusTest, StatusesSurviveTheRoundTrip) {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), code == 0 ? "" : "because");
    EXPECT_EQ(FromGrpcStatus(ToGrpcStatus(status)), status);
  }
}

TEST(RpcStatusTest, AServerThatTakesNoMoreConnectionsIsNamed) {
  Address address{.host = "127.0.0.1", .port = 0};
  auto sockets = Listen(address, "listen").value();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto stub = v1::WorkerService::NewStub(MakeSecureChannel(address.ToString(), {}).value());
  const auto call = [&stub] {
    grpc::ClientContext context;
    v1::CoordinatorSync answer;
    return FromGrpcStatus(stub->Sync(&context, v1::WorkerSync(), &answer));
  };
  // So low that every connection is one too many; descriptors that are open stay so.
  std::vector<Descriptor> held;
  for (int i = 0; i < 100; ++i) held.emplace_back(::dup(0));
  rlimit low = before;
  low.rlim_cur = 180;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  {
    const ConnectionAcceptor acceptor(std::move(sockets), /*plain=*/true, [](int, int connection) {
      ADD_FAILURE() << "it is taken";
      ::close(connection);
    });
    EXPECT_THAT(call(), StatusIs(absl::StatusCode::kUnavailable,
                                 HasSubstr("as many connections as its limit of open files allows")));
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST(AddressTest, AddressesAreReadAndWrittenBack) {
  for (const char* text : {"127.0.0.1:7420", "localhost:0", "[::1]:80", "host-1.example.org:65535"}) {
    EXPECT_EQ(ParseAddress(text, "listen").value().ToString(), text);
  }
  EXPECT_EQ(ParseAddress("[::1]:80", "listen")->host, "::1");
}

TEST(AddressTest, EachMistakeIsNamed) {
  const auto error = [](const char* text) {
    return std::string(ParseAddress(text, "http_listen").status().message());
  };
  EXPECT_EQ(error("localhost"),
            "http_listen: 'localhost' is not an address: there is no port; expected host:port, for example "
            "127.0.0.1:7420");
  EXPECT_THAT(error(""), HasSubstr("there is no port"));
  EXPECT_THAT(error(":80"), HasSubstr("there is no host"));
  EXPECT_THAT(error("h:"), HasSubstr("not a number from 0 to 65535"));
  EXPECT_THAT(error("h:65536"), HasSubstr("not a number from 0 to 65535"));
  EXPECT_THAT(error("h:-1"), HasSubstr("not a number from 0 to 65535"));
  EXPECT_THAT(error("::1:80"), HasSubstr("needs brackets"));
  EXPECT_THAT(error("[::1"), HasSubstr("expected host:port"));
  EXPECT_THAT(error("http://h:80"), HasSubstr("expected host:port"));
}

TEST(RpcServerTest, ThePortThatWasTakenIsReportedAndServes) {
  EchoService service;
  auto server = StartServer("127.0.0.1:0", "listen", {&service}).value();
  EXPECT_THAT(server.address, testing::Not(testing::EndsWith(":0")));
  const auto stub = v1::WorkerService::NewStub(MakeSecureChannel(server.address, {}).value());
  grpc::ClientContext context;
  v1::WorkerSync sync;
  sync.set_sync_id(42);
  sync.set_host(std::string(8 << 20, 'x'));  // Above gRPC's own limit of 4 MiB.
  v1::CoordinatorSync answer;
  ASSERT_TRUE(stub->Sync(&context, sync, &answer).ok());
  EXPECT_EQ(answer.sync_id(), 42u);
}

TEST(RpcServerTest, AnAddressInUseIsNamedWithTheRemedy) {
  EchoService first, second;
  auto server = StartServer("127.0.0.1:0", "listen", {&first}).value();
  const absl::Status status = StartServer(server.address, "listen", {&second}).status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("listen: " + server.address + " is already in use; stop the program")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("another port (0 takes a free one)"));
}

TEST(RpcServerTest, AHostThatIsNotOursIsNamed) {
  EchoService service;
  EXPECT_THAT(StartServer("192.0.2.1:0", "listen", {&service}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("cannot listen on 192.0.2.1:0")));
}

}  // namespace
}  // namespace inlier
