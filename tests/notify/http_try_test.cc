// Webhooks, against real HTTP and HTTPS servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/version.h"
#include "notify/signature.h"
#include "notify/try_outcome.h"
#include "tests/notify/web_receiver.h"
#include "tests/support/certificates.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Kind = TryOutcome::Kind;

class HttpTryTest : public testing::Test {
 protected:
  TryOutcome Post(
      const v1::HookConfig& hook, const MustStop& must_stop = [] { return false; }) {
    return PostNotification(hook, /*insecure=*/false, notification_, must_stop);
  }
  static v1::HookConfig Hook(const std::string& url) {
    v1::HookConfig hook;
    hook.set_url(url);
    hook.set_timeout_seconds(10);
    return hook;
  }

  TemporaryFolder folder_;
  Notification notification_{.number = 7, .at = {1000}, .event = "end", .body = R"({"id":"n-7-1000"})"};
};

TEST_F(HttpTryTest, IsAPostOfTheBodyWithItsHeadersAndSignature) {
  const WebReceiver receiver;
  v1::HookConfig hook = Hook(receiver.url("/hook?a=b"));
  EXPECT_EQ(Post(hook).kind, Kind::kTaken);
  const std::string key = folder_.Write("key", "key of ours\n").string();
  ASSERT_EQ(::chmod(key.c_str(), 0600), 0);
  hook.set_secret_file(key);
  EXPECT_EQ(Post(hook).kind, Kind::kTaken);
  // A secret that was renewed is used from the next try on.
  folder_.Write("key", "another key\n");
  EXPECT_EQ(Post(hook).kind, Kind::kTaken);

  const auto requests = receiver.requests();
  ASSERT_EQ(requests.size(), 3u);
  const auto& plain = requests[0];
  EXPECT_EQ(plain.method_string(), "POST");
  EXPECT_EQ(plain.target(), "/hook?a=b");
  EXPECT_EQ(plain.body(), notification_.body);
  EXPECT_EQ(plain["Content-Type"], "application/json");
  EXPECT_EQ(plain["Host"], "127.0.0.1:" + std::to_string(receiver.port()));
  EXPECT_EQ(plain["X-Inlier-Event"], "end");
  EXPECT_EQ(plain["X-Inlier-Delivery"], "n-7-1000");
  EXPECT_EQ(plain["User-Agent"], "inlier-coordinator/" + std::string(Version()));
  EXPECT_EQ(plain.count("X-Inlier-Signature"), 0u);
  EXPECT_EQ(requests[1]["X-Inlier-Signature"], "sha256=" + HmacSha256Hex("key of ours", notification_.body));
  EXPECT_EQ(requests[2]["X-Inlier-Signature"], "sha256=" + HmacSha256Hex("another key", notification_.body));
}

TEST_F(HttpTryTest, AnswersOfTheReceiver) {
  for (const auto& [status, kind] : std::vector<std::pair<int, Kind>>{{200, Kind::kTaken},
                                                                      {204, Kind::kTaken},
                                                                      {400, Kind::kRefused},
                                                                      {404, Kind::kRefused},
                                                                      {408, Kind::kFailed},
                                                                      {429, Kind::kFailed},
                                                                      {500, Kind::kFailed},
                                                                      {503, Kind::kFailed}}) {
    const WebReceiver receiver(status);
    const TryOutcome outcome = Post(Hook(receiver.url()));
    EXPECT_EQ(outcome.kind, kind) << status;
    EXPECT_EQ(outcome.error,
              kind == Kind::kTaken ? "" : "the receiver answered with status " + std::to_string(status));
  }
}

TEST_F(HttpTryTest, ARedirectIsNotFollowed) {
  const WebReceiver elsewhere;
  const WebReceiver receiver([&](const WebReceiver::Request&, WebReceiver::Response& response) {
    response.set("Location", elsewhere.url());
    return 302;
  });
  const TryOutcome outcome = Post(Hook(receiver.url()));
  EXPECT_EQ(outcome.kind, Kind::kRefused);
  EXPECT_THAT(outcome.error, HasSubstr("redirects are not followed"));
  EXPECT_TRUE(elsewhere.requests().empty());
}

TEST_F(HttpTryTest, AReceiverThatIsNotThereHangsOrSendsGarbageHasFailed) {
  std::string url;
  {
    const WebReceiver receiver;
    url = receiver.url();
  }
  TryOutcome outcome = Post(Hook(url));
  EXPECT_EQ(outcome.kind, Kind::kFailed);
  EXPECT_THAT(outcome.error, AllOf(HasSubstr("refused"), Not(HasSubstr("/hook"))));

  const WebReceiver silent(0);
  v1::HookConfig hook = Hook(silent.url());
  hook.set_timeout_seconds(1);
  EXPECT_EQ(Post(hook).error, "no answer within 1 s");

  const WebReceiver endless([](const WebReceiver::Request&, WebReceiver::Response& response) {
    response.set("X-Long", std::string(60'000, 'x'));
    return 200;
  });
  outcome = Post(Hook(endless.url()));
  EXPECT_EQ(outcome.kind, Kind::kFailed);
  EXPECT_THAT(outcome.error, HasSubstr("longer than 8 KiB"));

  const WebReceiver large([](const WebReceiver::Request&, WebReceiver::Response& response) {
    response.body() = std::string(10'000'000, 'x');
    return 200;
  });
  EXPECT_EQ(Post(Hook(large.url())).kind, Kind::kTaken);  // Its head is enough.

  outcome = Post(Hook("http://no-such-host.invalid/hook"));
  EXPECT_EQ(outcome.kind, Kind::kFailed);
  EXPECT_THAT(outcome.error, HasSubstr("Could not resolve host: no-such-host.invalid"));
}

TEST_F(HttpTryTest, AStopEndsIt) {
  const WebReceiver silent(0);
  int asked = 0;
  EXPECT_EQ(Post(Hook(silent.url()), [&] { return ++asked > 3; }).kind, Kind::kFailed);
}

TEST_F(HttpTryTest, TheCertificateIsCheckedAndItsName) {
  const Certificates ours(folder_.path(), "ours");
  ours.Issue("server");
  ours.Issue("expired", -1);
  const Certificates others(folder_.path(), "others");
  others.Issue("stranger");
  const WebReceiver::Answer taken = [](const WebReceiver::Request&, WebReceiver::Response&) { return 200; };
  const WebReceiver receiver(taken, ours.Pem("server"), ours.Key("server"));
  v1::HookConfig hook = Hook(receiver.url());
  hook.set_tls_ca(ours.Pem("ours"));
  EXPECT_EQ(Post(hook).kind, Kind::kTaken) << Post(hook).error;
  hook.set_url("https://localhost:" + std::to_string(receiver.port()) + "/hook");
  EXPECT_EQ(Post(hook).kind, Kind::kTaken) << Post(hook).error;
  const std::size_t taken_so_far = receiver.requests().size();

  hook.set_url(receiver.url());
  hook.clear_tls_ca();  // The system's.
  EXPECT_THAT(Post(hook).error, HasSubstr("SSL certificate problem: "));
  hook.set_tls_ca(ours.Pem("ours"));
  const WebReceiver stranger(taken, others.Pem("stranger"), others.Key("stranger"));
  hook.set_url(stranger.url());
  EXPECT_THAT(Post(hook).error, HasSubstr("SSL certificate problem: "));
  const WebReceiver expired(taken, ours.Pem("expired"), ours.Key("expired"));
  hook.set_url(expired.url());
  EXPECT_THAT(Post(hook).error, HasSubstr("SSL certificate problem: certificate has expired"));
  EXPECT_EQ(receiver.requests().size(), taken_so_far);
  EXPECT_TRUE(stranger.requests().empty());
  EXPECT_TRUE(expired.requests().empty());
}

TEST_F(HttpTryTest, ACertificateOfAnotherNameIsRefused) {
  const Certificates ours(folder_.path(), "ours");
  folder_.Write("names", "subjectAltName=DNS:elsewhere.example\n");
  ours.Issue("server");
  const WebReceiver receiver([](const WebReceiver::Request&, WebReceiver::Response&) { return 200; },
                             ours.Pem("server"), ours.Key("server"));
  v1::HookConfig hook = Hook(receiver.url());
  hook.set_tls_ca(ours.Pem("ours"));
  EXPECT_THAT(Post(hook).error, HasSubstr("no alternative certificate subject name matches"));
  EXPECT_TRUE(receiver.requests().empty());
}

}  // namespace
}  // namespace inlier
