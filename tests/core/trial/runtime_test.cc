// Device names and facts about the machine.
#include "core/trial/runtime.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

namespace inlier {
namespace {

TEST(RuntimeTest, CpuIsADeviceAndAnUnknownWordIsNot) {
  const c10::Device cpu = ParseDevice("cpu").value();
  EXPECT_TRUE(cpu.is_cpu());
  EXPECT_EQ(DeviceName(cpu), "cpu");
  for (const char* word : {"gpu", "", "cuda:", "cuda:x", "cuda:-1"}) {
    EXPECT_EQ(ParseDevice(word).status().message(), "device: unsupported device \"" + std::string(word) +
                                                        "\"; use \"cpu\", \"cuda\" or \"cuda:<index>\"");
  }
}

TEST(RuntimeTest, GpuThatIsNotThereIsUnavailable) {
  const absl::Status status = ParseDevice("cuda:4096").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), testing::StartsWith("device: \"cuda:4096\" is not there: "));
  EXPECT_EQ(ParseDevice("cuda").ok(), at::hasCUDA());
}

TEST(RuntimeTest, SetUpTakesTheThreadsAndCpusItIsGiven) {
  cpu_set_t before, bound;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) last = CPU_ISSET(cpu, &before) ? cpu : last;
  SetUpRuntime(1, {last});
  EXPECT_EQ(at::get_num_threads(), 1);
  ASSERT_EQ(::sched_getaffinity(0, sizeof(bound), &bound), 0);
  EXPECT_EQ(CPU_COUNT(&bound), 1);
  EXPECT_TRUE(CPU_ISSET(last, &bound));
  ::sched_setaffinity(0, sizeof(before), &before);
  EXPECT_THAT(TorchVersion(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace inlier
