// Device names and facts about the machine.
#include "core/trial/runtime.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace inlier {
namespace {

TEST(RuntimeTest, CpuIsADeviceAndAnUnknownWordIsNot) {
  const absl::StatusOr<c10::Device> cpu = ParseDevice("cpu");
  ASSERT_TRUE(cpu.ok());
  EXPECT_TRUE(cpu->is_cpu());
  EXPECT_EQ(DeviceName(*cpu), "cpu");
  for (const char* word : {"gpu", "", "cuda:", "cuda:x", "cuda:-1"}) {
    EXPECT_EQ(
        ParseDevice(word).status().message(),
        "device: \"" + std::string(word) + "\" is no device; use \"cpu\", \"cuda\" or \"cuda:<index>\"");
  }
}

TEST(RuntimeTest, GpuThatIsNotThereIsUnavailable) {
  const absl::Status status = ParseDevice("cuda:4096").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), testing::StartsWith("device: \"cuda:4096\" is not there: "));
  EXPECT_EQ(ParseDevice("cuda").ok(), at::hasCUDA());
}

TEST(RuntimeTest, SetUpTakesTheThreadsItIsGiven) {
  SetUpRuntime(1);
  EXPECT_EQ(at::get_num_threads(), 1);
  EXPECT_THAT(TorchVersion(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace inlier
