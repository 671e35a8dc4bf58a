#include "spec/sweep/resource_checks.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

using ::testing::HasSubstr;

std::string RefusalOf(const std::string& resources, const std::string& training = "steps: 500") {
  const auto sweep = ReadSweepText(
      "name: s\nbase: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {" + training +
          "}}\naxes: [{field: seed, values: [1, 2]}]\nresources: " + resources + "\n",
      "s.yaml");
  return sweep.ok() ? "OK" : std::string(sweep.status().message());
}

TEST(ResourceChecksTest, GangsThatSplitTheUpdatesEvenlyAreTaken) {
  EXPECT_EQ(RefusalOf("{gpus: 4}"), "OK");
  EXPECT_EQ(RefusalOf("{processes: 2, gpu: 0.5, shard_optimizer: true}"), "OK");
  EXPECT_EQ(RefusalOf("{processes: 3}", "steps: 5, batch_size: 32, gradient_accumulation: 3"), "OK");
}

TEST(ResourceChecksTest, WhatDoesNotGoTogetherIsRefusedWithTheRemedy) {
  EXPECT_THAT(RefusalOf("{processes: 3}"),
              HasSubstr("resources.processes: training.batch_size: 32 examples"));
  EXPECT_THAT(RefusalOf("{gpus: 6}", "steps: 5, gradient_accumulation: 2"), HasSubstr("a multiple of 3"));
  EXPECT_THAT(RefusalOf("{gpus: 2, processes: 2}"), HasSubstr("is in place of processes"));
  EXPECT_THAT(RefusalOf("{gpus: 2, gpu: 0.5}"), HasSubstr("is in place of gpu"));
  EXPECT_THAT(RefusalOf("{shard_optimizer: true}"), HasSubstr("one process has the whole state"));
  EXPECT_THAT(RefusalOf("{processes: 65}"), HasSubstr("from 1 to 64"));
}

}  // namespace
}  // namespace inlier
