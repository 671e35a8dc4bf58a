#include "notify/hook_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HookCheckTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text, mode_t mode) {
    const std::string path = (folder_.path() / name).string();
    std::ofstream(path) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  static std::string Refusal(const v1::CoordinatorConfig& config) {
    return std::string(CheckHooks(config).message());
  }
  static v1::CoordinatorConfig WithUrl(const std::string& url) {
    v1::CoordinatorConfig config;
    config.mutable_hooks()->add_on_end()->set_url(url);
    return config;
  }
  static v1::CoordinatorConfig WithCommand(const std::string& command) {
    v1::CoordinatorConfig config;
    config.mutable_hooks()->add_on_failure()->set_command(command);
    return config;
  }

  TemporaryFolder folder_;
};

TEST_F(HookCheckTest, PartsOfAUrl) {
  const auto url = ParseHookUrl("https://[::1]:8443/a/b?c=d").value();
  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.port, 8443);
  EXPECT_EQ(url.target, "/a/b?c=d");
  EXPECT_EQ(url.host_header, "[::1]:8443");
  EXPECT_EQ(ParseHookUrl("http://host")->port, 80);
  EXPECT_EQ(ParseHookUrl("http://host")->target, "/");
  EXPECT_EQ(ParseHookUrl("https://host?x")->target, "/?x");
  EXPECT_EQ(ParseHookUrl("https://host/a#part")->target, "/a");
  EXPECT_EQ(ParseHookUrl("https://host")->port, 443);
}

TEST_F(HookCheckTest, UrlsThatAreRefusedAreNotQuoted) {
  for (const auto& [url, reason] :
       std::vector<std::pair<std::string, std::string>>{{"ftp://host/secret", "http://"},
                                                        {"host/secret", "https://"},
                                                        {"http:///secret", "no host"},
                                                        {"http://host:0/secret", "port"},
                                                        {"http://host:70000/secret", "port"},
                                                        {"http://host:/secret", "port"},
                                                        {"http://me:secret@host/", "secret_file"},
                                                        {"http://host/secret\r\nX: y", "printable"},
                                                        {"http://host/secret ", "printable"}}) {
    EXPECT_THAT(Refusal(WithUrl(url)),
                AllOf(HasSubstr("hooks.on_end: url: "), HasSubstr(reason), Not(HasSubstr("/secret"))))
        << url;
  }
}

TEST_F(HookCheckTest, AHookIsACommandOrAUrl) {
  v1::CoordinatorConfig config = WithUrl("http://host");
  EXPECT_TRUE(CheckHooks(config).ok());
  config.mutable_hooks()->mutable_on_end(0)->set_command("/bin/true");
  EXPECT_THAT(Refusal(config), HasSubstr("hooks.on_end: a hook needs a command or a url"));
  config.mutable_hooks()->mutable_on_end(0)->Clear();
  EXPECT_THAT(Refusal(config), HasSubstr("a command or a url"));
  config = WithUrl("http://host");
  config.mutable_hooks()->add_on_end()->set_url("http://host");
  EXPECT_THAT(Refusal(config), HasSubstr("the same receiver"));
  config = WithUrl("http://host");
  config.mutable_hooks()->mutable_on_end(0)->set_tls_ca("/etc/ssl/certs");
  EXPECT_THAT(Refusal(config), HasSubstr("tls_ca is for a url that begins with https"));
  config = WithUrl("https://host");
  config.mutable_hooks()->mutable_on_end(0)->set_tls_ca(folder_.path() / "missing.pem");
  EXPECT_THAT(Refusal(config), HasSubstr("tls_ca: "));
}

TEST_F(HookCheckTest, ASecretIsPrivateAndTheFirstLine) {
  const std::string file = Write("key", "key of ours\nmore\n", 0600);
  EXPECT_EQ(*ReadSecret(file, false), "key of ours");
  Write("key", "another\r\n", 0600);
  EXPECT_EQ(*ReadSecret(file, false), "another");
  EXPECT_EQ(*ReadSecret("", false), "");
  v1::CoordinatorConfig config = WithUrl("http://host");
  config.mutable_hooks()->mutable_on_end(0)->set_secret_file(file);
  EXPECT_TRUE(CheckHooks(config).ok());
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_THAT(Refusal(config), AllOf(HasSubstr("hooks.on_end: secret_file"), HasSubstr("chmod o-r")));
  config.set_insecure(true);
  EXPECT_TRUE(CheckHooks(config).ok());
  Write("key", "\n", 0600);
  EXPECT_THAT(Refusal(config), HasSubstr("is empty"));
  std::filesystem::remove(file);
  EXPECT_THAT(Refusal(config), HasSubstr(file));
}

TEST_F(HookCheckTest, ACommandIsOneThatOnlyThisUserAndRootCanHaveWritten) {
  const std::string file = Write("notify", "#!/bin/sh\n", 0700);
  EXPECT_TRUE(CheckHooks(WithCommand(file)).ok());
  EXPECT_TRUE(CheckHooks(WithCommand("/bin/true")).ok());
  EXPECT_THAT(Refusal(WithCommand("notify")),
              HasSubstr("hooks.on_failure: command: the path must be absolute"));
  EXPECT_THAT(Refusal(WithCommand(file + " --fast")), HasSubstr("No such file"));
  EXPECT_THAT(Refusal(WithCommand(folder_.path())), HasSubstr("is not a file"));
  ASSERT_EQ(::chmod(file.c_str(), 0722), 0);
  EXPECT_THAT(Refusal(WithCommand(file)), HasSubstr("chmod go-w " + file));
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  EXPECT_THAT(Refusal(WithCommand(file)), HasSubstr("chmod u+x"));
  ASSERT_EQ(::chmod(file.c_str(), 0700), 0);
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0777), 0);
  EXPECT_THAT(Refusal(WithCommand(file)), HasSubstr("chmod go-w " + folder_.path().string()));
  // A link is followed.
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0700), 0);
  ASSERT_EQ(::chmod(file.c_str(), 0722), 0);
  std::filesystem::create_symlink(file, folder_.path() / "link");
  EXPECT_THAT(Refusal(WithCommand(folder_.path() / "link")), HasSubstr("writable by other users"));
  if (::geteuid() == 0) {
    ASSERT_EQ(::chmod(file.c_str(), 0700), 0);
    ASSERT_EQ(::chown(file.c_str(), 65534, 65534), 0);
    EXPECT_THAT(Refusal(WithCommand(file)), HasSubstr("belongs to another user"));
  }
}

TEST_F(HookCheckTest, TheLogHasNoPathsOfUrls) {
  v1::CoordinatorConfig config = WithUrl("https://chat.example/hooks/secret");
  config.mutable_hooks()->add_on_no_worker()->set_command("/opt/notify");
  const std::string text = WithoutSecrets(config).ShortDebugString();
  EXPECT_THAT(text,
              AllOf(HasSubstr("https://chat.example ("), HasSubstr("/opt/notify"), Not(HasSubstr("secret"))));
  EXPECT_FALSE(WithoutSecrets(v1::CoordinatorConfig()).has_hooks());
}

TEST(HookKeyTest, TheNameOfAReceiverHidesThePathOfItsUrl) {
  v1::HookConfig hook;
  hook.set_command("/opt/notify");
  EXPECT_EQ(HookKey("end", hook), "end /opt/notify");
  hook.Clear();
  hook.set_url("https://chat.example:8443/hooks/secret");
  const std::string key = HookKey("failure", hook);
  EXPECT_THAT(key, testing::MatchesRegex("failure https://chat.example:8443 \\([0-9a-f]+\\)"));
  hook.set_url("https://chat.example:8443/hooks/other");
  EXPECT_NE(HookKey("failure", hook), key);
  hook.set_url("https://chat.example?secret");
  EXPECT_THAT(HookKey("end", hook), testing::StartsWith("end https://chat.example ("));
}

}  // namespace
}  // namespace inlier
