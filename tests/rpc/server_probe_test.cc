#include "rpc/server_probe.h"

#include <gtest/gtest.h>

#include <thread>

#include "inlier/v1/worker_service.grpc.pb.h"
#include "rpc/connection_acceptor.h"
#include "rpc/port_watch.h"
#include "rpc/rpc.h"
#include "tests/support/certificates.h"
#include "tests/support/comes.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

class ServerProbeTest : public testing::Test {
 protected:
  ServerProbeTest() { authority_.Issue("server"); }
  ListeningServer Start(const ServerTls& tls) {
    return StartServer("127.0.0.1:0", "listen", {&service_}, {.tls = tls}).value();
  }
  ServerTls Encrypted() const {
    return {.certificate = authority_.Pem("server"), .key = authority_.Key("server")};
  }

  const TemporaryFolder folder_;
  const Certificates authority_{folder_.path(), "authority"};
  v1::WorkerService::Service service_;
};

TEST_F(ServerProbeTest, TlsIsToldFromPlainText) {
  const auto encrypted = Start(Encrypted());
  EXPECT_TRUE(AcceptsConnections(encrypted.address));
  EXPECT_TRUE(SpeaksTls(encrypted.address));
  // Also one that asks callers for certificates.
  ServerTls mutual_tls = Encrypted();
  mutual_tls.client_ca = authority_.Pem("authority");
  const auto mutual = Start(mutual_tls);
  EXPECT_TRUE(SpeaksTls(mutual.address));
  const auto plain = Start({});
  EXPECT_TRUE(AcceptsConnections(plain.address));
  EXPECT_FALSE(SpeaksTls(plain.address));
}

TEST_F(ServerProbeTest, AServerAnswersAndAListenerThatNobodyServesDoesNot) {
  constexpr Duration kLong = std::chrono::seconds(60);
  EXPECT_TRUE(Answers(Start(Encrypted()).address, /*tls=*/true, kLong));
  EXPECT_TRUE(Answers(Start({}).address, /*tls=*/false, kLong));
  Address address{.host = "127.0.0.1", .port = 0};
  const auto dead = Listen(address, "listen").value();
  EXPECT_TRUE(AcceptsConnections(address.ToString()));
  EXPECT_FALSE(Answers(address.ToString(), false, std::chrono::milliseconds(50)));
  EXPECT_FALSE(Answers(address.ToString(), true, std::chrono::milliseconds(50)));
  PortWatch watch(address.ToString(), false, std::chrono::milliseconds(20));
  EXPECT_TRUE(watch.answers());  // It has not been asked twice.
  EXPECT_TRUE(Comes([&] { return !watch.answers(); }));
}

TEST_F(ServerProbeTest, NothingListens) {
  const std::string stopped = Start({}).address;
  for (const std::string& nothing : {stopped, std::string("no address"), std::string("127.0.0.1:0")}) {
    EXPECT_FALSE(AcceptsConnections(nothing)) << nothing;
    EXPECT_FALSE(SpeaksTls(nothing)) << nothing;
  }
}

}  // namespace
}  // namespace inlier
