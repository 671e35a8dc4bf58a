#include "rpc/daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace inlier {
namespace {

using testing::ElementsAre;

absl::StatusOr<DaemonOptions> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "program");
  return ParseDaemonOptions(static_cast<int>(arguments.size()), arguments.data());
}

std::string Error(std::vector<const char*> arguments) {
  return std::string(Parse(std::move(arguments)).status().message());
}

TEST(DaemonOptionsTest, BothFormsOfOptionsAreRead) {
  const auto options =
      Parse({"--config=a.yaml", "--set", "x=1", "--set=y=a=b", "--log-level", "debug"}).value();
  EXPECT_EQ(options.action, DaemonOptions::Action::kRun);
  EXPECT_EQ(options.config_file, "a.yaml");
  EXPECT_THAT(options.overrides, ElementsAre("x=1", "y=a=b"));
  EXPECT_EQ(options.log_level, "debug");
}

TEST(DaemonOptionsTest, WhatIsAskedForFirstIsDone) {
  EXPECT_EQ(Parse({"-h"})->action, DaemonOptions::Action::kHelp);
  EXPECT_EQ(Parse({"--version", "--bogus"})->action, DaemonOptions::Action::kVersion);
  EXPECT_EQ(Parse({"--metrics-reference"})->action, DaemonOptions::Action::kMetricsReference);
}

TEST(DaemonOptionsTest, EachMistakeIsNamed) {
  EXPECT_EQ(Error({"x"}), "unknown argument 'x'; see --help");
  EXPECT_EQ(Error({"--set"}), "--set needs a value; see --help");
  EXPECT_EQ(Error({"--set", "x"}), "--set x: expected path=value");
  EXPECT_EQ(Error({"--config=a", "--config=b"}), "--config is given twice");
  EXPECT_EQ(Error({"--help=1"}), "--help takes no value; see --help");
  EXPECT_EQ(Error({"--log-level=loud"}), "--log-level loud: expected trace, debug, info, warn, error or off");
}

TEST(StopSignalsTest, SignalsAreCountedOnTheIoContext) {
  boost::asio::io_context io;
  std::vector<std::pair<std::string, int>> seen;
  const StopSignals signals(io, [&](const std::string& name, int count) {
    seen.emplace_back(name, count);
    if (count == 1) ::raise(SIGINT);
    if (count == 2) io.stop();
  });
  ::raise(SIGTERM);
  io.run();
  EXPECT_THAT(seen, ElementsAre(std::pair("SIGTERM", 1), std::pair("SIGINT", 2)));
}

TEST(ReportFatalTest, WrongInputIsToldApartFromFailure) {
  EXPECT_EQ(ReportFatal("p", absl::InvalidArgumentError("x")), kExitUsage);
  EXPECT_EQ(ReportFatal("p", absl::AlreadyExistsError("x")), kExitFailure);
}

TEST(OpenFileLimitTest, TheSoftLimitBecomesTheHardOne) {
  const std::uint64_t limit = RaiseOpenFileLimit();
  EXPECT_GE(limit, 256u);
  EXPECT_EQ(RaiseOpenFileLimit(), limit);
}

}  // namespace
}  // namespace inlier
