// Every sweep in sweeps/, and every scale of it, is one that a person could submit.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "spec/sweep/sweep_grid.h"
#include "spec/sweep/sweep_reader.h"
#include "spec/trial/canonical.h"
#include "spec/trial/resolver.h"
#include "spec/trial/validator.h"
#include "tests/spec/sweeps_page.h"
#include "tests/support/hub.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

// A file of sweeps/ at one of its scales; "" is the file as it is.
struct ShippedSweep {
  std::string name;
  fs::path file;
  std::string scale;
};

void PrintTo(const ShippedSweep& sweep, std::ostream* out) { *out << sweep.name; }

std::vector<ShippedSweep> ShippedSweeps() {
  std::vector<ShippedSweep> sweeps;
  for (const fs::path& file : SweepFiles(INLIER_SOURCE_DIR)) {
    std::string name = file.stem().string();
    for (char& c : name) c = c == '-' ? '_' : c;
    sweeps.push_back({name, file, ""});
    const auto scales = ReadScaleNames(file);
    if (!scales.ok()) continue;  // Reported by the test of the file itself.
    for (const std::string& scale : *scales) sweeps.push_back({name + "_at_" + scale, file, scale});
  }
  return sweeps;
}

class ShippedSweepsTest : public ::testing::TestWithParam<ShippedSweep> {
  void SetUp() override { UseHubOfTests(INLIER_SOURCE_DIR); }
};

TEST_P(ShippedSweepsTest, EveryPointIsRight) {
  const v1::SweepSpec sweep = ReadSweepFile(GetParam().file, {}, GetParam().scale).value();
  const SweepGrid grid = SweepGrid::Create(sweep).value();
  std::uint64_t points = 0;
  for (auto index = grid.NextIndex(0); index; index = grid.NextIndex(*index + 1)) {
    const GridPoint point = grid.At(*index).value();
    const auto resolved = ResolveAndValidate(point.spec);
    ASSERT_TRUE(resolved.ok()) << *index << ": " << resolved.status();
    // As the coordinator keeps it.
    const PackedParts parts = SplitPacked(*resolved);
    v1::TrialSpec whole;
    ASSERT_TRUE(whole.ParseFromString(parts.train + parts.evaluate));
    ASSERT_EQ(whole.SerializeAsString(), resolved->SerializeAsString()) << *index;
    // As it is read back after a restart, and by an export: every default is written.
    if (points++ >= 40) continue;
    const auto stored = ResolveAndValidate(*TrialSpecFromJson(ResolvedJson(*resolved)));
    ASSERT_TRUE(stored.ok()) << *index << ": " << stored.status();
    ASSERT_EQ(EvaluateFingerprint(*stored), EvaluateFingerprint(*resolved)) << *index;
  }
  EXPECT_EQ(grid.kept(), points);
  EXPECT_TRUE(sweep.has_table()) << "`inlier run` ends with the table that the file lays out";
  std::cout << sweep.name() << ": " << points << " trials\n";
}

// A person with two cores and what `make setup` fetches can run it.
TEST_P(ShippedSweepsTest, SmallScalesNeedNothingFromElsewhere) {
  if (GetParam().scale != "small") return;
  const v1::SweepSpec sweep = ReadSweepFile(GetParam().file, {}, GetParam().scale).value();
  const SweepGrid grid = SweepGrid::Create(sweep).value();
  EXPECT_LE(grid.kept(), 48u);
  const std::vector<std::string> corpora = {"gcide", "kjv", "wordnet"};
  for (auto index = grid.NextIndex(0); index; index = grid.NextIndex(*index + 1)) {
    const v1::TrialSpec spec = *ResolveAndValidate(grid.At(*index)->spec);
    const v1::DataSpec& data = spec.data();
    EXPECT_TRUE(!spec.training().has_start_from() || spec.training().start_from().has_point());
    EXPECT_FALSE(data.has_instructions());
    if (data.has_text()) {
      EXPECT_NE(std::find(corpora.begin(), corpora.end(), data.text().corpus()), corpora.end());
      EXPECT_TRUE(data.text().tokenizer().has_byte_pair());
    }
    if (data.has_images()) {
      EXPECT_EQ(data.images().dataset(), "fashion-mnist");
    }
    if (data.has_classification()) {
      EXPECT_EQ(data.classification().dataset(), "wordnet-classes");
    }
    EXPECT_EQ(spec.training().precision(), v1::FLOAT32);
    EXPECT_LE(spec.training().steps() * spec.training().gradient_accumulation(), 2000u);
    EXPECT_TRUE(spec.training().has_steps());
  }
}

INSTANTIATE_TEST_SUITE_P(Folder, ShippedSweepsTest, ::testing::ValuesIn(ShippedSweeps()),
                         [](const auto& info) { return info.param.name; });

TEST(ShippedSweepsFolderTest, EveryTableOfThePapersHasAFileAndASmallScale) {
  int papers = 0;
  for (const ShippedSweep& sweep : ShippedSweeps()) {
    const std::string stem = sweep.file.stem().string();
    if (stem.find("-table") == std::string::npos && stem.find("-figure") == std::string::npos) continue;
    ++papers;
    if (!sweep.scale.empty()) continue;
    const auto scales = ReadScaleNames(sweep.file).value();
    EXPECT_EQ(scales, std::vector<std::string>{"small"}) << stem;
    const v1::SweepSpec spec = ReadSweepFile(sweep.file).value();
    EXPECT_EQ(spec.name(), stem);
  }
  EXPECT_EQ(papers, 2 * 25);
}

TEST(ShippedSweepsFolderTest, ThePageIsUpToDate) {
  std::ifstream stream(INLIER_SOURCE_DIR "/docs/reference/sweeps.md");
  const std::string page((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  EXPECT_TRUE(page == SweepsMarkdown(INLIER_SOURCE_DIR)) << "run: ninja -C <build> update_reference";
}

TEST(ShippedSweepsFolderTest, TheSmokeSweepHasEightPoints) {
  const v1::SweepSpec sweep = ReadSweepFile(INLIER_SOURCE_DIR "/sweeps/smoke.yaml").value();
  EXPECT_EQ(SweepGrid::Create(sweep)->kept(), 8u);
}

}  // namespace
}  // namespace inlier
