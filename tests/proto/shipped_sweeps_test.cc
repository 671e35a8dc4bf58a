// Every sweep in sweeps/ is one that a person could submit.
#include <filesystem>

#include "gtest/gtest.h"
#include "proto/spec/sweep_grid.h"
#include "proto/spec/sweep_reader.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

TEST(ShippedSweepsTest, EveryOneIsRight) {
  int sweeps = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(INLIER_SOURCE_DIR "/sweeps")) {
    if (entry.path().extension() != ".yaml") continue;
    ++sweeps;
    const absl::StatusOr<v1::SweepSpec> sweep = ReadSweepFile(entry.path());
    EXPECT_TRUE(sweep.ok()) << sweep.status();
  }
  EXPECT_GE(sweeps, 2) << "quickstart.yaml and smoke.yaml";
}

TEST(ShippedSweepsTest, TheSmokeSweepHasEightPoints) {
  const absl::StatusOr<v1::SweepSpec> sweep = ReadSweepFile(INLIER_SOURCE_DIR "/sweeps/smoke.yaml");
  ASSERT_TRUE(sweep.ok()) << sweep.status();
  EXPECT_EQ(SweepGrid::Create(*sweep)->kept(), 8u);
}

}  // namespace
}  // namespace inlier
