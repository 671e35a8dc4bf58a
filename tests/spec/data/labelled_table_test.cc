#include "spec/data/labelled_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class LabelledTableTest : public testing::Test {
 protected:
  absl::StatusOr<LabelledTable> Read(const std::string& content,
                                     const LabelledColumns& columns = {"label", "sentence", {}}) {
    return LabelledTable::Read(folder_.Write("x.tsv", content), columns);
  }
  // The error's message, without the folder.
  std::string Error(const std::string& content, const LabelledColumns& columns = {"label", "sentence", {}}) {
    const auto table = Read(content, columns);
    if (table.ok()) return "OK";
    const std::string message(table.status().message());
    const std::string folder = folder_.path().string() + "/";
    return message.starts_with(folder) ? message.substr(folder.size()) : message;
  }

  TemporaryFolder folder_;
};

// SST-2 and its like: headings, no quoting, in any order, with other columns between.
TEST_F(LabelledTableTest, ColumnsAreFoundByTheirHeadings) {
  const auto table =
      Read("\xEF\xBB\xBFindex\tsentence\tlabel\r\n0\ta \"b\tgood \r\n\r\n1\t\tbad\n2\t c\tgood",
           {"label", "sentence", {}});
  ASSERT_TRUE(table.ok()) << table.status();
  ASSERT_EQ(table->rows().size(), 3u);
  EXPECT_EQ(table->rows()[0].text, "a \"b");
  EXPECT_EQ(table->rows()[0].label, "good");
  EXPECT_EQ(table->rows()[0].pair, "");
  EXPECT_EQ(table->rows()[1].text, "");
  EXPECT_EQ(table->rows()[2].text, " c");
  EXPECT_THAT(table->Place(table->rows()[2]), EndsWith("/x.tsv:5"));
}

// CoLA: no headings, so that the first line is a row.
TEST_F(LabelledTableTest, ColumnsAreFoundByTheirNumbers) {
  const auto table = Read("gj04\t1\t\tOne here.\tsecond\nks08\t0\t*\tTwo.\tother\n", {"2", "4", "5"}).value();
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.rows()[0].label, "1");
  EXPECT_EQ(table.rows()[0].text, "One here.");
  EXPECT_EQ(table.rows()[0].pair, "second");
  EXPECT_THAT(table.Place(table.rows()[1]), EndsWith("/x.tsv:2"));
}

TEST_F(LabelledTableTest, AHeadingThatIsNotThereIsNamed) {
  EXPECT_EQ(
      Error("sentence\tlabels\na\t1\n"),
      "x.tsv:1: no column \"label\" for data.classification.label_column among its 2, which are separated "
      "by tabs; did you mean \"labels\"?; name a heading of that line, or, where the file has no headings, "
      "all "
      "columns by their numbers from 1");
  EXPECT_THAT(Error("\nsentence\tlabel\na\t1\n", {"label", "sentence", "question"}),
              testing::StartsWith(
                  "x.tsv:2: no column \"question\" for data.classification.pair_column among its 2, which"));
  EXPECT_EQ(Error("label\tsentence\tsentence \n1\ta\tb\n"),
            "x.tsv:1: two columns have the heading \"sentence\" of data.classification.text_column; rename "
            "one of them");
}

TEST_F(LabelledTableTest, NumbersAndHeadingsAreNotMixed) {
  EXPECT_EQ(Error("a\tb\n", {"1", "sentence", {}}),
            "data.classification.text_column: \"sentence\" is a heading and data.classification.label_column "
            "\"1\" a "
            "number: name all columns by headings, or all by numbers from 1");
  EXPECT_EQ(
      Error("a\tb\n", {"label", "sentence", "3"}),
      "data.classification.label_column: \"label\" is a heading and data.classification.pair_column \"3\" a "
      "number: name all columns by headings, or all by numbers from 1");
  EXPECT_EQ(Error("a\tb\n", {"1", "0", {}}),
            "data.classification.text_column: \"0\" is not a column: they count from 1");
  EXPECT_EQ(Error("a\tb\n", {"1", "99999999999", {}}),
            "data.classification.text_column: \"99999999999\" is not a column: they count from 1");
}

// Its cells would be taken for those of other columns: a question for a class.
TEST_F(LabelledTableTest, ARowOfAnotherWidthIsNamedByItsLine) {
  constexpr char kRemedy[] = "; a tab separates two cells, so put a space for one within a text";
  EXPECT_EQ(Error("sentence\tlabel\na\t1\n\none\ttwo\t1\n"),
            absl::StrCat("x.tsv:4: 3 cells, and there are 2 headings", kRemedy));
  EXPECT_EQ(Error("sentence\tlabel\na\t1\t\n"),
            absl::StrCat("x.tsv:2: 3 cells, and there are 2 headings", kRemedy));
  EXPECT_EQ(Error("index\tsentence\tlabel\tnote\n0\ta\t1\tx\n1\tb\t0\n"),
            absl::StrCat("x.tsv:3: 3 cells, and there are 4 headings", kRemedy));
  EXPECT_EQ(Error("1\ta\n0 b\n", {"1", "2", {}}),
            absl::StrCat("x.tsv:2: 1 cell, and the first row has 2", kRemedy));
  EXPECT_EQ(Error("1\ta\n0\tb\tc\n", {"1", "2", {}}),
            absl::StrCat("x.tsv:2: 3 cells, and the first row has 2", kRemedy));
}

TEST_F(LabelledTableTest, AMissingColumnOrLabelIsNamedByItsLine) {
  EXPECT_EQ(Error("1 a\n0 b\n", {"1", "2", {}}),
            "x.tsv:1: 1 column, and data.classification.text_column \"2\" is number 2; the columns "
            "of a row are separated by tabs");
  EXPECT_EQ(Error("label\tsentence\n1\ta\n-\tb\n"),
            "x.tsv:3: no label in the column \"label\"; leave such rows out");
  EXPECT_THAT(Error("label\tsentence\n  \tb\n"), HasSubstr("x.tsv:2: no label in the column"));
}

TEST_F(LabelledTableTest, OfOtherRecordsEveryRowHasATextAndLabelsAreTrimmed) {
  const LabelledColumns columns = {"label", "text", "other"};
  const auto read = [&](const std::string& name, const std::string& content) {
    return LabelledTable::Read(folder_.Write(name, content), columns);
  };
  const auto table = read("x.csv", "text,label,other\n a , pos ,b\n").value();
  ASSERT_EQ(table.rows().size(), 1u);
  EXPECT_EQ(table.rows()[0].text, " a ");
  EXPECT_EQ(table.rows()[0].label, "pos");
  EXPECT_EQ(table.rows()[0].pair, "b");
  EXPECT_THAT(std::string(read("x.csv", "text,label,other\na,1,b\n ,1,b\n").status().message()),
              EndsWith("x.csv:3: no text in the column \"text\"; leave such rows out"));
  EXPECT_THAT(
      std::string(read("x.jsonl", "{\"text\": \"a\", \"label\": 1, \"other\": \"\"}\n").status().message()),
      EndsWith("x.jsonl:1: no text in the column \"other\"; leave such rows out"));
  EXPECT_THAT(std::string(read("x.json", "[]").status().message()),
              EndsWith("x.json: no rows; one a line is needed"));
}

TEST_F(LabelledTableTest, AFileWithoutRowsOrNotOfTextIsRefused) {
  EXPECT_EQ(Error("label\tsentence\n\n"), "x.tsv: no rows; one a line is needed, below the headings");
  EXPECT_EQ(Error("", {"1", "2", {}}), "x.tsv: no rows; one a line is needed");
  EXPECT_THAT(Error("label\tsentence\n1\tfine\n1\tcaf\xE9\n"), HasSubstr("x.tsv:3"));
  EXPECT_THAT(Error("label\tsentence\n1\tfine\n1\tcaf\xE9\n"), HasSubstr("UTF-8"));
  EXPECT_THAT(std::string(LabelledTable::Read("/dev/null", {"1", "2", {}}).status().message()),
              HasSubstr("let the worker's user read it, or name another file"));
}

}  // namespace
}  // namespace inlier
