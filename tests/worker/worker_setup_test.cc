#include "worker/worker_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/version.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string Script(const TemporaryFolder& folder, const std::string& body) {
  const std::string path = (folder / "program").string();
  std::ofstream(path) << "#!/bin/sh\n" << body;
  ::chmod(path.c_str(), 0755);
  return path;
}

std::string CheckMessage(const std::string& program) {
  return std::string(CheckTrialProgram(program).status().message());
}

TEST(WorkerSetupTest, DefaultsAreFilledIn) {
  v1::WorkerConfig config;
  config.set_state_dir("some/state");
  ASSERT_TRUE(ResolveWorkerConfig(config).ok());
  EXPECT_THAT(config.state_dir(), StartsWith("/"));
  EXPECT_EQ(config.cache_dir(), config.state_dir() + "/cache");
  EXPECT_THAT(config.trial_program(), testing::EndsWith("/inlier-trial"));
  EXPECT_FALSE(config.data_dir().empty());
  EXPECT_EQ(config.name(), HostName());
}

TEST(WorkerSetupTest, ABadCoordinatorAddressIsNamed) {
  v1::WorkerConfig config;
  config.set_state_dir("/tmp");
  config.set_coordinator("nonsense");
  EXPECT_EQ(std::string(ResolveWorkerConfig(config).message()),
            "coordinator: 'nonsense' is not an address: there is no port; expected host:port, for example "
            "127.0.0.1:7420");
  config.set_coordinator("localhost:0");
  EXPECT_THAT(std::string(ResolveWorkerConfig(config).message()), HasSubstr("port 0"));
  config.set_coordinator("head:7420");
  config.set_name("two words");
  EXPECT_THAT(std::string(ResolveWorkerConfig(config).message()),
              HasSubstr("name: \"two words\": a worker's name has letters, digits"));
}

TEST(WorkerSetupTest, ABucketThatIsMissingOrNoPlaceIsNamed) {
  v1::WorkerConfig config;
  config.set_state_dir("/tmp");
  config.set_artifacts(v1::WorkerConfig::S3);
  EXPECT_THAT(std::string(ResolveWorkerConfig(config).message()), HasSubstr("set s3.bucket and s3.endpoint"));
  config.mutable_s3()->set_bucket("a");
  EXPECT_THAT(std::string(ResolveWorkerConfig(config).message()), HasSubstr("s3.bucket: 'a' is not the name of a bucket"));
  config.mutable_s3()->set_bucket("checkpoints");
  config.mutable_s3()->set_credentials_file("/nonexistent/keys");
  EXPECT_THAT(std::string(ResolveWorkerConfig(config).message()),
              testing::AllOf(HasSubstr("s3.credentials_file"), HasSubstr("/nonexistent/keys")));
}

TEST(WorkerSetupTest, AStateFolderThatCannotBeMadeIsNamedWithTheRemedy) {
  v1::WorkerConfig config;
  config.set_state_dir("/proc/nowhere");
  config.set_cache_dir("/proc/nowhere/cache");
  EXPECT_THAT(std::string(PrepareStateFolder(config).message()), HasSubstr("/proc/nowhere"));
  EXPECT_THAT(std::string(PrepareStateFolder(config).message()), HasSubstr("name another one"));
}

TEST(WorkerSetupTest, TheFakeTrialIsAccepted) {
  const auto trial = CheckTrialProgram(INLIER_FAKE_TRIAL).value();
  EXPECT_FALSE(trial.has_cuda);
  EXPECT_THAT(trial.version_text, StartsWith("inlier-trial " + Version()));
}

TEST(WorkerSetupTest, ATrialProgramThatIsMissingIsNamedWithTheRemedy) {
  EXPECT_THAT(
      CheckMessage("/nowhere/inlier-trial"),
      HasSubstr("trial_program /nowhere/inlier-trial does not exist; install the package inlier-trial"));
}

TEST(WorkerSetupTest, AMissingLibTorchIsReportedWithTheLoadersMessageAndTheRemedy) {
  const TemporaryFolder folder;
  const std::string program = Script(
      folder,
      "echo 'inlier-trial: error while loading shared libraries: libtorch.so: cannot open' >&2; exit 127");
  EXPECT_THAT(CheckMessage(program), HasSubstr("libtorch.so: cannot open; put LibTorch back"));
}

TEST(WorkerSetupTest, ATrialOfAnotherVersionIsRefusedWithBothVersions) {
  const TemporaryFolder folder;
  EXPECT_THAT(CheckMessage(Script(folder, "echo inlier-trial 9.9.9+abc")),
              HasSubstr("is of version 9.9.9, this worker of " + Version()));
}

TEST(WorkerSetupTest, ATrialThatDiesIsReported) {
  const TemporaryFolder folder;
  EXPECT_THAT(CheckMessage(Script(folder, "echo oh; kill -SEGV $$")),
              HasSubstr("it was ended by signal 11 (Segmentation fault); it printed: oh"));
}

}  // namespace
}  // namespace inlier
