#include "cli/data_check.h"

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/data/utf8_text.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "spec/schema/yaml_reader.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class DataCheckTest : public testing::Test {
 protected:
  // The problems of a sweep whose base has these fields of YAML: a letter for the kind, place, field and text. DIR is the folder.
  std::vector<std::string> Problems(const std::string& base) {
    const std::string yaml =
        absl::StrReplaceAll("name: s\nbase:\n  " + base + "\n", {{"DIR", folder_.path().string()}});
    v1::SweepSpec sweep;
    EXPECT_TRUE(ReadYamlText(yaml, "s.yaml", &sweep).ok());
    std::vector<std::string> found;
    for (const DataProblem& problem : FindDataProblems(*SweepGrid::Create(sweep), folder_.path())) {
      constexpr const char* kKinds[] = {"doubtful ", "absent ", "wrong "};
      found.push_back(
          absl::StrReplaceAll(absl::StrCat(kKinds[problem.kind], DataProblemText(problem, "s.yaml", yaml)),
                              {{folder_.path().string(), "DIR"}}));
    }
    return found;
  }
  void Write(const std::string& name, const std::string& content) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    folder_.Write(name, content);
  }

  TemporaryFolder folder_;
};

TEST_F(DataCheckTest, ACorpusThatTheDataFolderHasNotIsNamedWithTheNearest) {
  v1::SweepSpec sweep;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(name: "s" base { data { text { corpus: "gcide" } } }
         axes { field: "data.text.corpus" values { string_value: "gcide" } values { string_value: "kvj" } })",
      &sweep));
  const SweepGrid grid = *SweepGrid::Create(sweep);
  EXPECT_THAT(FindDataProblems(grid, folder_ / "none"), IsEmpty());  // No such folder: not known.
  EXPECT_THAT(FindDataProblems(grid, folder_.path()), IsEmpty());
  for (const char* corpus : {"gcide", "kjv"}) folder_.Write(absl::StrCat(corpus, ".txt"), "text\n");
  const std::vector<DataProblem> problems = FindDataProblems(grid, folder_.path());
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].kind, DataProblem::kDoubtful);
  EXPECT_EQ(problems[0].field, "data.text.corpus");
  EXPECT_THAT(problems[0].text,
              AllOf(StartsWith("\"kvj\" is not in the data folder"), HasSubstr("; did you mean \"kjv\"?")));
}

TEST_F(DataCheckTest, WhatIsNotThereIsNamedByItsPlaceInTheSweepsFile) {
  EXPECT_THAT(Problems("data: {text: {path: DIR/none.txt}}"),
              ElementsAre(AllOf(
                  StartsWith("absent s.yaml:3:23: data.text.path: no file DIR/none.txt on this machine"))));
  EXPECT_THAT(
      Problems("data.classification.path: DIR/none.csv"),
      ElementsAre(StartsWith("absent s.yaml:3:29: data.classification.path: no file DIR/none.csv on this")));
  EXPECT_THAT(
      Problems("data: {instructions: {path: DIR/none.jsonl}}"),
      ElementsAre(StartsWith("absent s.yaml:3:31: data.instructions.path: no file DIR/none.jsonl on this")));
  EXPECT_THAT(Problems("data: {images: {path: DIR/none}}"),
              ElementsAre(StartsWith("absent s.yaml:3:25: data.images.path: no folder DIR/none on this")));
  Write("a.txt", "one\ntwo\n");
  EXPECT_THAT(Problems("data: {text: {path: DIR/a.txt, tokenizer: {byte_pair: {path: DIR/none.txt}}}}"),
              ElementsAre(StartsWith("absent s.yaml:3:")));
  EXPECT_THAT(
      Problems("data: {text: {path: DIR/a.txt}}\n  training: {start_from: {hugging_face: DIR/none}}"),
      ElementsAre("absent s.yaml:4:41: training.start_from.hugging_face: no file or folder DIR/none on this "
                  "machine"));
}

TEST_F(DataCheckTest, TextsAreReadAsATrialReadsThem) {
  Write("empty.txt", "");
  EXPECT_THAT(Problems("data: {text: {path: DIR/empty.txt}}"),
              ElementsAre(EndsWith(
                  "data.text.path: DIR/empty.txt has 0 non-empty lines; one text a line is needed, two at "
                  "least")));
  Write("packed.txt.gz", "\x1f\x8b\x08");
  EXPECT_THAT(Problems("data: {text: {path: DIR/packed.txt.gz}}"),
              ElementsAre(HasSubstr("is compressed by gzip")));
  Write("folder/notes.md", "text");
  EXPECT_THAT(Problems("data: {text: {path: DIR/folder}}"),
              ElementsAre(HasSubstr("no .txt file in the folder")));
  Write("rows.csv", "review,stars\na,1\nb,2\n");
  EXPECT_THAT(
      Problems("data: {text: {path: DIR/rows.csv}}"),
      ElementsAre(StartsWith("wrong s.yaml:3:23: data.text.path: DIR/rows.csv:1: no column \"text\" for "
                             "data.text.field")));
  EXPECT_THAT(Problems("data: {text: {path: DIR/rows.csv, field: review}}"), IsEmpty());
  Write("mark.txt", std::string(kByteOrderMark) + "one\ntwo\n");
  EXPECT_THAT(Problems("data: {text: {path: DIR/mark.txt}}"),
              ElementsAre(HasSubstr("DIR/mark.txt:1: begins with a byte order mark")));
}

TEST_F(DataCheckTest, LabelledRowsThatATrialWouldRefuseAreNamedByItsError) {
  const auto problems = [this](const std::string& name, const std::string& content,
                               const std::string& more = "") {
    Write(name, content);
    return Problems("data: {classification: {path: DIR/" + name + more + "}}");
  };
  EXPECT_THAT(
      problems("rows.csv", "sentence\tlabel\na good film\tpos\n"),
      ElementsAre(AllOf(HasSubstr("rows.csv:1: no column \"label\" for "), HasSubstr("the ending .tsv"))));
  EXPECT_THAT(problems("rows.tsv", "sentence\tlabel\na good film\tpos\na fine film\tpos\n"),
              ElementsAre(HasSubstr("rows.tsv: no row for validation, of 2")));
  std::string rows = "sentence\tlabel\n", quoted = rows;
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&rows, "film ", i, i % 2 ? "\tpos\n" : "\tneg\n");
    absl::StrAppend(&quoted, "\"film ", i, i % 2 ? "\"\tpos\n" : "\"\tneg\n");
  }
  EXPECT_THAT(problems("rows.tsv", rows), IsEmpty());
  // The headings are taken for a row.
  EXPECT_THAT(
      problems("rows.tsv", rows, ", label_column: \"2\", text_column: \"1\""),
      ElementsAre(AllOf(StartsWith("doubtful "), HasSubstr("rows.tsv:1: columns are named by numbers"))));
  EXPECT_THAT(problems("rows.tsv", rows + "\tpos\n"),
              ElementsAre(HasSubstr("rows.tsv:102: no text in this row")));
  EXPECT_THAT(problems("rows.tsv", quoted),
              ElementsAre(HasSubstr("rows.tsv:2: every text is between quotation marks")));
}

TEST_F(DataCheckTest, ImagesHaveClassesAndAreImages) {
  const std::string png = "\x89PNG\r\n\x1a\n", base = "data: {images: {path: DIR/images}}";
  for (const char* name : {"bird", "cat"}) Write(absl::StrCat("images/train/", name, "/1.png"), png);
  EXPECT_THAT(Problems(base), ElementsAre(AllOf(StartsWith("wrong "), HasSubstr("has neither IDX files"))));
  for (const char* name : {"bird", "cat"}) Write(absl::StrCat("images/val/", name, "/1.png"), png);
  EXPECT_THAT(Problems(base), IsEmpty());
  Write("images/train/dog/1.JPG", "\xff\xd8\xff...");
  EXPECT_THAT(Problems(base), ElementsAre(HasSubstr("/images/val lacks dog")));
  std::filesystem::create_directories(folder_ / "images/val/dog");
  EXPECT_THAT(Problems(base), ElementsAre(HasSubstr("no .png, .jpg or .jpeg file in DIR/images/val/dog")));
  Write("images/val/dog/1.png", "GIF89a");
  EXPECT_THAT(Problems(base),
              ElementsAre(EndsWith("DIR/images/val/dog/1.png: neither a PNG nor a JPEG: convert it to one "
                                   "of them, or take it out of the folder")));
  Write("images/val/dog/1.png", png);
  EXPECT_THAT(
      Problems(base + "\n  model: {vit: {classes: 2}}"),
      ElementsAre(StartsWith("wrong s.yaml:4:26: model.vit.classes: 2 are too few for the 3 classes of")));
  Write("idx/train-images-idx3-ubyte.gz", "x");
  EXPECT_THAT(
      Problems("data: {images: {path: DIR/idx}}"),
      ElementsAre(HasSubstr("train-labels-idx"), HasSubstr("t10k-images-idx"), HasSubstr("t10k-labels-idx")));
}

}  // namespace
}  // namespace inlier
