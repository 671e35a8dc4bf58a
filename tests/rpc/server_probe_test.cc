#include "rpc/server_probe.h"

#include <gtest/gtest.h>

#include "inlier/v1/worker_service.grpc.pb.h"
#include "rpc/http_server.h"
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
