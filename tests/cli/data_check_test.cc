#include "cli/data_check.h"

#include <fstream>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(DataCheckTest, ACorpusThatTheDataFolderHasNotIsNamedWithTheNearest) {
  v1::SweepSpec sweep;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(name: "s" base { data { text { corpus: "gcide" } } }
         axes { field: "data.text.corpus" values { string_value: "gcide" } values { string_value: "kvj" } })",
      &sweep));
  const SweepGrid grid = *SweepGrid::Create(sweep);
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "data_check";
  std::filesystem::remove_all(folder);
  EXPECT_THAT(DataWarnings(grid, folder), IsEmpty());  // No such folder: not known.
  std::filesystem::create_directories(folder);
  EXPECT_THAT(DataWarnings(grid, folder), IsEmpty());
  for (const char* corpus : {"gcide", "kjv"})
    std::ofstream(folder / (std::string(corpus) + ".txt")) << "text\n";
  EXPECT_THAT(DataWarnings(grid, folder),
              ElementsAre(AllOf(StartsWith("data.text.corpus: \"kvj\" is not in the data folder"),
                                HasSubstr("; did you mean \"kjv\"?"))));
}

TEST(DataCheckTest, LabelledRowsThatATrialWouldRefuseAreNamedByItsError) {
  const TemporaryFolder folder;
  const auto warnings = [&folder](const std::string& content) {
    v1::SweepSpec sweep;
    sweep.set_name("s");
    v1::DataSpec& data = *sweep.mutable_base()->mutable_data();
    data.mutable_classification()->set_path((folder / "rows.csv").string());
    if (!content.empty()) folder.Write("rows.csv", content);
    return DataWarnings(*SweepGrid::Create(sweep), folder.path());
  };
  EXPECT_THAT(warnings(""), IsEmpty());  // No such file: not known.
  EXPECT_THAT(
      warnings("sentence,label\na good film,pos\na bad film,neg\n"),
      ElementsAre(AllOf(HasSubstr("rows.csv:1: no column \"label\" for "), HasSubstr("separated by tabs"))));
  EXPECT_THAT(warnings("sentence\tlabel\na good film\tpos\na fine film\tpos\n"),
              ElementsAre(HasSubstr("rows.csv: no row for validation, of 2")));
  std::string rows = "sentence\tlabel\n";
  for (int i = 0; i < 100; ++i) rows += "film " + std::to_string(i) + (i % 2 ? "\tpos\n" : "\tneg\n");
  EXPECT_THAT(warnings(rows), IsEmpty());
}

}  // namespace
}  // namespace inlier
