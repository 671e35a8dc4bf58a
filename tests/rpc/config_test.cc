#include "rpc/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "inlier/v1/config.pb.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ConfigTest, TheFileIsOverriddenAndDefaultsAreFilledIn) {
  const TemporaryFolder folder;
  std::ofstream(folder / "c.yaml") << "state_dir: /var/inlier\nlease_ttl_ms: 2000\nstall_seconds: 5\n";
  v1::CoordinatorConfig config;
  ASSERT_TRUE(LoadConfig((folder / "c.yaml").string(), {"lease_ttl_ms=3000", "listen=[::1]:0"}, config).ok());
  EXPECT_EQ(config.state_dir(), "/var/inlier");
  EXPECT_EQ(config.lease_ttl_ms(), 3000u);
  EXPECT_EQ(config.stall_seconds(), 5u);
  EXPECT_EQ(config.listen(), "[::1]:0");
  EXPECT_TRUE(config.has_http_listen());
  EXPECT_EQ(config.http_listen(), "127.0.0.1:7421");
  EXPECT_THAT(DescribeConfig(config), HasSubstr("\"commit_rows_max\":4096"));
}

TEST(ConfigTest, WithoutAFileOverridesAreEnough) {
  v1::WorkerConfig config;
  ASSERT_TRUE(LoadConfig("", {"state_dir=/s"}, config).ok());
  EXPECT_EQ(config.coordinator(), "127.0.0.1:7420");
  EXPECT_FALSE(config.has_slots());  // Without a declared default it stays open.
}

TEST(ConfigTest, MistakesAreToldWithTheirPlace) {
  const TemporaryFolder folder;
  const std::string file = (folder / "c.yaml").string();
  std::ofstream(file) << "state_dir: /s\n\nlease_ttl: 2000\n";
  v1::CoordinatorConfig config;
  absl::Status status = LoadConfig(file, {}, config);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("c.yaml:3:1: lease_ttl")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("lease_ttl_ms"));
  std::ofstream(file) << "lease_ttl_ms: 2000\n";
  v1::CoordinatorConfig without;
  status = LoadConfig(file, {}, without);
  EXPECT_THAT(std::string(status.message()), HasSubstr("state_dir"));
  v1::CoordinatorConfig range;
  status = LoadConfig("", {"state_dir=/s", "lease_ttl_ms=1"}, range);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--set lease_ttl_ms=1"));
  v1::CoordinatorConfig nothing;
  status = LoadConfig("", {}, nothing);
  EXPECT_EQ(
      status.message(),
      "state_dir: is missing: give a text\nGive it as --set FIELD=VALUE, or in a file as --config FILE");
  v1::CoordinatorConfig missing;
  EXPECT_THAT(std::string(LoadConfig("/nowhere.yaml", {}, missing).message()), HasSubstr("/nowhere.yaml"));
}

TEST(ConfigTest, AKeyOfAnEarlierReleaseIsRefusedWithWhatToDoNow) {
  const TemporaryFolder folder;
  const std::string file = (folder / "c.yaml").string();
  std::ofstream(file) << "state_dir: /s\nbackup: {folder: /mnt/backups, keep: 3}\n";
  v1::CoordinatorConfig config;
  EXPECT_THAT(LoadConfig(file, {}, config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("c.yaml:2:1: backup: no longer exists: "),
                             HasSubstr("inlier-backup.timer"), HasSubstr("inlier backup FOLDER --keep N"))));
  v1::CoordinatorConfig set;
  EXPECT_THAT(std::string(LoadConfig("", {"state_dir=/s", "backup.keep=3"}, set).message()),
              HasSubstr("no longer exists: "));
}

}  // namespace
}  // namespace inlier
