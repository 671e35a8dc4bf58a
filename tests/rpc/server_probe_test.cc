#include "rpc/server_probe.h"

#include <gtest/gtest.h>

#include <thread>

#include "inlier/v1/worker_service.grpc.pb.h"
#include "rpc/connection_acceptor.h"
#include "rpc/port_watch.h"
#include "rpc/rpc.h"
#include "tests/support/certificates.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

TEST(ServerProbeTest, TlsIsToldFromPlainText) {
  const TemporaryFolder folder;
  const Certificates authority(folder.path(), "authority");
  authority.Issue("server");
  v1::WorkerService::Service service;
  const auto encrypted =
      StartServer("127.0.0.1:0", "listen", {&service},
                  {.tls = {.certificate = authority.Pem("server"), .key = authority.Key("server")}});
  ASSERT_TRUE(encrypted.ok()) << encrypted.status();
  EXPECT_TRUE(AcceptsConnections(encrypted->address));
  EXPECT_TRUE(SpeaksTls(encrypted->address));
  // Also one that asks callers for certificates.
  const auto mutual = StartServer("127.0.0.1:0", "listen", {&service},
                                  {.tls = {.certificate = authority.Pem("server"),
                                           .key = authority.Key("server"),
                                           .client_ca = authority.Pem("authority")}});
  ASSERT_TRUE(mutual.ok()) << mutual.status();
  EXPECT_TRUE(SpeaksTls(mutual->address));
  const auto plain = StartServer("127.0.0.1:0", "listen", {&service});
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_TRUE(AcceptsConnections(plain->address));
  EXPECT_FALSE(SpeaksTls(plain->address));
}

TEST(ServerProbeTest, AServerAnswersAndAListenerThatNobodyServesDoesNot) {
  constexpr Duration kLong = std::chrono::seconds(60);
  const TemporaryFolder folder;
  const Certificates authority(folder.path(), "authority");
  authority.Issue("server");
  v1::WorkerService::Service service;
  const auto encrypted =
      StartServer("127.0.0.1:0", "listen", {&service},
                  {.tls = {.certificate = authority.Pem("server"), .key = authority.Key("server")}});
  ASSERT_TRUE(encrypted.ok()) << encrypted.status();
  EXPECT_TRUE(Answers(encrypted->address, /*tls=*/true, kLong));
  const auto plain = StartServer("127.0.0.1:0", "listen", {&service});
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_TRUE(Answers(plain->address, /*tls=*/false, kLong));
  Address address{.host = "127.0.0.1", .port = 0};
  const auto dead = Listen(address, "listen");
  ASSERT_TRUE(dead.ok()) << dead.status();
  EXPECT_TRUE(AcceptsConnections(address.ToString()));
  EXPECT_FALSE(Answers(address.ToString(), false, std::chrono::milliseconds(50)));
  EXPECT_FALSE(Answers(address.ToString(), true, std::chrono::milliseconds(50)));
  PortWatch watch(address.ToString(), false, std::chrono::milliseconds(20));
  EXPECT_TRUE(watch.answers());  // It has not been asked twice.
  for (int i = 0; i < 1000 && watch.answers(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(watch.answers());
}

TEST(ServerProbeTest, NothingListens) {
  v1::WorkerService::Service service;
  std::string address;
  {
    const auto server = StartServer("127.0.0.1:0", "listen", {&service});
    ASSERT_TRUE(server.ok());
    address = server->address;
  }
  for (const std::string& nothing : {address, std::string("no address"), std::string("127.0.0.1:0")}) {
    EXPECT_FALSE(AcceptsConnections(nothing)) << nothing;
    EXPECT_FALSE(SpeaksTls(nothing)) << nothing;
  }
}

}  // namespace
}  // namespace inlier
