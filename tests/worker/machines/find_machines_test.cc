#include "worker/machines/find_machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/version.h"

namespace inlier {
namespace {

using testing::HasSubstr;

TEST(ReadMachineReportTest, TheReportIsFoundBelowOtherLines) {
  const std::string report = absl::StrCat(R"({"host":"b","version":")", Version(),
                                          R"(","memoryMib":"100","slots":[{"device":"cpu"}]})");
  const auto read = ReadMachineReport(absl::StrCat("Welcome to b!\n", report, "\n")).value();
  EXPECT_EQ(read.host(), "b");
  EXPECT_EQ(read.memory_mib(), 100u);
  EXPECT_EQ(read.slots_size(), 1);
}

TEST(ReadMachineReportTest, AnotherVersionAndNoReportAreErrors) {
  EXPECT_THAT(ReadMachineReport(R"({"version":"0.0.1","slots":[{"device":"cpu"}]})").status().message(),
              HasSubstr("of version 0.0.1, this one of"));
  for (const char* text : {"", "hello", "{", R"({"host":"b"})"})
    EXPECT_THAT(ReadMachineReport(text).status().message(), HasSubstr("no report of a machine")) << text;
}

TEST(NodeAddressOfTest, IsTheWordAfterItsName) {
  EXPECT_EQ(NodeAddressOf("NodeName=n2 Arch=x86_64 NodeAddr=10.0.0.2 NodeHostName=n2\n"), "10.0.0.2");
  EXPECT_EQ(NodeAddressOf("NodeName=n2"), "");
}

}  // namespace
}  // namespace inlier
