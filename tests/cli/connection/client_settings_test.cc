#include "cli/connection/client_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kFile[] = "/home/u/.config/inlier/client.yaml";

ClientChoice Choose(const ClientSettings& flags, const ClientSettings& environment,
                    const ClientSettings& file) {
  return ChooseCoordinator(flags, environment, file, kFile);
}

TEST(ClientSettingsTest, TheFirstThatNamesACoordinatorOrAFolderDecides) {
  const ClientChoice nothing = Choose({}, {}, {});
  EXPECT_FALSE(nothing.named());
  EXPECT_EQ(nothing.dir, ".inlier");
  EXPECT_EQ(nothing.by(), "");

  // A folder of a flag, and no server that is named elsewhere.
  const ClientChoice folder = Choose({.dir = "demo"}, {.server = "env:1"}, {.server = "file:1"});
  EXPECT_EQ(folder.server, "");
  EXPECT_EQ(folder.dir, "demo");
  EXPECT_EQ(folder.by(), "--dir");

  // The folder is still known, for the files in it.
  const ClientChoice server =
      Choose({.server = "flag:1"}, {.dir = "there"}, {.server = "file:1", .dir = "x"});
  EXPECT_EQ(server.server, "flag:1");
  EXPECT_EQ(server.by(), "--server");
  EXPECT_EQ(server.dir, "there");

  EXPECT_EQ(Choose({}, {.dir = "there"}, {.server = "file:1"}).by(), "INLIER_DIR");
  EXPECT_EQ(Choose({}, {.server = "env:1"}, {.dir = "x"}).by(), "INLIER_SERVER");
  const ClientChoice file = Choose({}, {}, {.server = "file:1", .dir = "x"});
  EXPECT_EQ(file.server, "file:1");
  EXPECT_EQ(file.dir, "x");
  EXPECT_EQ(file.by(), kFile);

  const ClientChoice both = Choose({.server = "flag:1", .dir = "demo"}, {}, {});
  EXPECT_EQ(both.server, "flag:1");
  EXPECT_EQ(both.dir, "demo");
}

TEST(ClientSettingsTest, CredentialsOfTheFileAreForTheCoordinatorOfTheFile) {
  const ClientSettings file = {.server = "file:1", .tls_ca = "ca.pem", .token_file = "token"};
  EXPECT_EQ(Choose({}, {}, file).credentials.token_file, "token");
  EXPECT_EQ(Choose({}, {}, file).credentials.tls_ca, "ca.pem");
  EXPECT_EQ(Choose({.server = "flag:1"}, {}, file).credentials.token_file, "");
  EXPECT_EQ(Choose({.dir = "demo"}, {}, file).credentials.tls_ca, "");
  EXPECT_EQ(Choose({}, {.server = "env:1"}, file).credentials.token_file, "");
  EXPECT_EQ(Choose({.server = "flag:1"}, {}, {.tls_ca = "ca.pem"}).credentials.tls_ca, "ca.pem");
}

TEST(ClientSettingsTest, TheFileIsWhereXdgAndTheHomeSay) {
  EXPECT_EQ(ClientFile("/xdg", "/home/u"), "/xdg/inlier/client.yaml");
  EXPECT_EQ(ClientFile("", "/home/u"), "/home/u/.config/inlier/client.yaml");
  EXPECT_EQ(ClientFile(nullptr, nullptr), "");
}

TEST(ClientSettingsTest, PathsAreOfTheFilesFolderOrTheHome) {
  const TemporaryFolder folder;
  const auto file =
      folder.Write("client.yaml",
                   "server: head:7420\ndir: ~/runs\ntls_ca: ca.pem\ntls_certificate: /etc/me.pem\n"
                   "tls_key: ../me.key\ntoken_file: \"token\"\n");
  const auto settings = ReadClientFile(file, "/home/u").value();
  EXPECT_EQ(settings.server, "head:7420");
  EXPECT_EQ(settings.dir, "/home/u/runs");
  EXPECT_EQ(settings.tls_ca, (folder.path() / "ca.pem").string());
  EXPECT_EQ(settings.tls_certificate, "/etc/me.pem");
  EXPECT_EQ(settings.tls_key, (folder.path().parent_path() / "me.key").string());
  EXPECT_EQ(settings.token_file, (folder.path() / "token").string());
  EXPECT_EQ(ReadClientFile(folder.path() / "none.yaml", "")->server, "");
  EXPECT_EQ(ReadClientFile("", "")->server, "");
  EXPECT_TRUE(ReadClientFile(folder.Write("empty.yaml", "# nothing\n"), "").ok());
}

TEST(ClientSettingsTest, MistakesOfTheFileHaveTheirPlaceAndTheNearestKey) {
  const TemporaryFolder folder;
  const auto error = [&folder](const std::string& text) {
    const auto settings = ReadClientFile(folder.Write("client.yaml", text), "");
    EXPECT_EQ(settings.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(settings.status().message());
  };
  EXPECT_THAT(error("dir: a\ntls-ca: b\n"), AllOf(HasSubstr("client.yaml:2:1: unknown key \"tls-ca\""),
                                                  HasSubstr("did you mean \"tls_ca\"?")));
  EXPECT_THAT(error("server: a:1\nserver: b:1\n"), HasSubstr(":2:1: \"server\" is there twice; remove one"));
  EXPECT_THAT(error("server: [a]\n"), HasSubstr(":1:9: server: expected a text"));
  EXPECT_THAT(error("server:\n"), HasSubstr("server: expected a text"));
  EXPECT_THAT(error("head:7420\n"), HasSubstr(":1:1: expected a mapping"));
  EXPECT_THAT(error("server: [a\n"), HasSubstr("client.yaml:"));
}

}  // namespace
}  // namespace inlier
