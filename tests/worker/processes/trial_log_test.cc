#include "worker/processes/trial_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/file.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

TEST(TrialLogTest, KeepsBytesInTheFileAndTheLastLinesInMemory) {
  const TemporaryFolder folder;
  TrialLog log;
  ASSERT_TRUE(log.Open(folder / "log.txt").ok());
  std::vector<std::string> lines;
  const auto keep = [&](const std::string& line) { lines.push_back(line); };
  for (int i = 0; i < 50; ++i) log.Write("line " + std::to_string(i) + "\n", keep);
  log.Write("no end", keep);
  log.Finish(keep);
  log.WriteLine("a word of the worker");
  EXPECT_EQ(lines.size(), 51u);
  EXPECT_EQ(log.last_lines().size(), TrialLog::kLastLines);
  EXPECT_EQ(log.last_lines().back(), "no end");
  const std::string text = *ReadFile(folder / "log.txt");
  EXPECT_THAT(text, testing::StartsWith("line 0\nline 1\n"));
  EXPECT_THAT(text, testing::EndsWith("no end[worker] a word of the worker\n"));
}

TEST(TrialLogTest, TheFileIsBoundedAndEndsWithANote) {
  const TemporaryFolder folder;
  TrialLog log;
  ASSERT_TRUE(log.Open(folder / "log.txt").ok());
  const std::string piece = std::string(1 << 20, 'x') + "\n";
  for (int i = 0; i < 20; ++i) log.Write(piece, [](const std::string&) {});
  const std::string text = *ReadFile(folder / "log.txt");
  EXPECT_LT(text.size(), TrialLog::kBytesMax + 100);
  EXPECT_THAT(text.substr(text.size() - 100), testing::HasSubstr("the rest is left out"));
  EXPECT_LE(log.last_lines().back().size(), TrialLog::kLineBytesMax + 10);
}

TEST(TrialLogTest, WithoutAFileTheLinesAreStillKept) {
  TrialLog log;
  EXPECT_FALSE(log.Open("/nowhere/log.txt").ok());
  log.Write("hello\n", [](const std::string&) {});
  EXPECT_EQ(log.last_lines().back(), "hello");
}

}  // namespace
}  // namespace inlier
