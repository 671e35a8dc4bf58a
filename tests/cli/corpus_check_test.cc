#include "cli/corpus_check.h"

#include <fstream>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(CorpusCheckTest, ACorpusThatTheDataFolderHasNotIsNamedWithTheNearest) {
  v1::SweepSpec sweep;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(name: "s" base { data { text { corpus: "gcide" } } }
         axes { field: "data.text.corpus" values { string_value: "gcide" } values { string_value: "kvj" } })",
      &sweep));
  const SweepGrid grid = *SweepGrid::Create(sweep);
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "corpus_check";
  std::filesystem::remove_all(folder);
  EXPECT_THAT(CorpusWarnings(grid, folder), IsEmpty());  // No such folder: not known.
  std::filesystem::create_directories(folder);
  EXPECT_THAT(CorpusWarnings(grid, folder), IsEmpty());
  for (const char* corpus : {"gcide", "kjv"})
    std::ofstream(folder / (std::string(corpus) + ".txt")) << "text\n";
  EXPECT_THAT(CorpusWarnings(grid, folder),
              ElementsAre(AllOf(StartsWith("data.text.corpus: \"kvj\" is not in the data folder"),
                                HasSubstr("; did you mean \"kjv\"?"))));
}

}  // namespace
}  // namespace inlier
