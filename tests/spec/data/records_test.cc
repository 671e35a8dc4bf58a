#include "spec/data/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::HasSubstr;

class RecordsTest : public testing::Test {
 protected:
  // "text|label text|label …" of the file, or the error without the folder.
  std::string Read(const std::string& name, const std::string& content, const std::string& text = "text",
                   const std::string& label = "label") {
    const std::filesystem::path file = folder_.Write(name, content);
    const auto records =
        Records::Read(file, *RecordFormOf(name),
                      {{"data.x.text", text}, {"data.x.label", label, RecordColumn::kValue}}, access_);
    if (!records.ok()) {
      const std::string message(records.status().message()), folder = folder_.path().string() + "/";
      return message.starts_with(folder) ? message.substr(folder.size()) : message;
    }
    std::string all;
    for (std::size_t i = 0; i < records->size(); ++i)
      all += (all.empty() ? "" : " ") + std::string(records->Value(i, 0)) + "|" +
             std::string(records->Value(i, 1));
    return all;
  }

  TemporaryFolder folder_;
  RecordAccess access_;
};

TEST_F(RecordsTest, EveryFormHasTheSameRecords) {
  EXPECT_EQ(Read("a.csv", "\xEF\xBB\xBFid,label,text\n1,p,\"a, b\"\n2,n,c\n"), "a, b|p c|n");
  EXPECT_EQ(Read("a.tsv", "id\tlabel\ttext\n1\tp\ta, b\n2\tn\tc\n"), "a, b|p c|n");
  EXPECT_EQ(Read("a.jsonl",
                 "\xEF\xBB\xBF{\"text\": \"a, b\", \"label\": \"p\"}\n{\"label\": \"n\", \"text\": \"c\"}"),
            "a, b|p c|n");
  EXPECT_EQ(Read("a.json", "[{\"text\": \"a, b\", \"label\": \"p\"},\n {\"label\": \"n\", \"text\": \"c\"}]"),
            "a, b|p c|n");
  EXPECT_EQ(Read("b.json", "{\"text\": \"a, b\", \"label\": \"p\"}\n{\n\"label\": \"n\",\n\"text\": \"c\"}"),
            "a, b|p c|n");
  EXPECT_EQ(Read("b.csv", "p,a\nn,b\n", "2", "1"), "a|p b|n");
}

TEST_F(RecordsTest, AValueMayBeANumberOrATruthValueAndATextMayNot) {
  EXPECT_EQ(Read("a.jsonl",
                 "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\", \"label\": 0.5}\n"
                 "{\"text\": \"c\", \"label\": true}\n{\"text\": \"d\", \"label\": null}\n"),
            "a|1 b|0.5 c|true d|");
  EXPECT_EQ(Read("a.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"text\": {\"en\": \"b\"}, \"label\": 1}\n"),
            "a.jsonl:2: the field \"text\" is of type object, and a text is a string; name another with "
            "data.x.text");
  EXPECT_EQ(
      Read("a.jsonl", "{\"text\": \"a\", \"label\": [1]}\n\n"),
      "a.jsonl:1: the field \"label\" is of type array, and a label is a string or a number; the file is one "
      "object with all of each column: write one object for each row, with pandas "
      "to_json(orient=\"records\"); "
      "name another with data.x.label");
}

TEST_F(RecordsTest, AColumnThatIsNotThereIsNamedWithTheOthersAndTheSeparator) {
  EXPECT_EQ(
      Read("a.csv", "txt,label\na,b\n"),
      "a.csv:1: no column \"text\" for data.x.text among its 2, which are separated by commas; did you mean "
      "\"txt\"?; name a heading of that line, or, where the file has no headings, all columns by their "
      "numbers "
      "from 1");
  EXPECT_THAT(
      Read("a.csv", "text\tlabel\na\tb\n"),
      HasSubstr("; that line has tabs and no comma: give a file of tab-separated cells the ending .tsv"));
  EXPECT_THAT(Read("a.csv", "text;label\na;b\n"),
              HasSubstr("; that line has semicolons and no comma: save the file with commas"));
  EXPECT_THAT(
      Read("a.tsv", "text,label\na,b\n"),
      HasSubstr("; that line has commas and no tab: give a file of comma-separated cells the ending .csv"));
  EXPECT_THAT(
      Read("a.csv", "a\tb\n", "1", "2"),
      HasSubstr(
          "a.csv:1: 1 column, and data.x.label \"2\" is number 2; the columns of a row are separated by "
          "commas; that line has tabs"));
  EXPECT_THAT(
      Read("a.jsonl", "{\"body\": \"a\", \"label\": 1}\n{}\n"),
      HasSubstr(
          "a.jsonl:1: no field \"text\" among its 2; known: body, label; name the one that is wanted by "
          "data.x.text"));
  EXPECT_EQ(Read("a.csv", "text,label,text\na,b,c\n"),
            "a.csv:1: two columns have the heading \"text\" of data.x.text; rename one of them");
  EXPECT_THAT(
      Read("a.csv", "text,label\na,b\nc\n"),
      HasSubstr("a.csv:3: 1 cell, and there are 2 headings; put a cell with a comma in it between quotation "
                "marks"));
}

// The reader may be another user's worker.
TEST_F(RecordsTest, WithinRootsNoContentIsQuoted) {
  access_.roots = DataRoots::Below({folder_.path()});
  EXPECT_THAT(Read("a.csv", "secret,label\na,b\n"), testing::Not(HasSubstr("secret")));
  EXPECT_THAT(Read("a.jsonl", "{\"secret\": \"a\"}\n"), testing::Not(HasSubstr("secret")));
  EXPECT_THAT(Read("a.json", "{\"secret\": [{}]}"), HasSubstr("jq .NAME"));
}

TEST_F(RecordsTest, OneObjectAroundAnArrayIsNamedWithTheRemedy) {
  EXPECT_THAT(Read("a.json", "{\"version\": 1, \"data\": [{\"text\": \"a\", \"label\": 1}]}\n"),
              HasSubstr("; the file is one object around an array: take the array out, for example with jq "
                        "'.\"data\"'"));
}

TEST_F(RecordsTest, FilesThatAreNoTextAreNamedWithTheRemedy) {
  EXPECT_EQ(Read("a.csv", std::string("\x1f\x8b\x08\0x", 5)),
            "a.csv: is compressed by gzip; unpack it with gunzip");
  EXPECT_THAT(Read("a.csv", "PK\x03\x04..."), HasSubstr("a.csv: is a zip archive or a spreadsheet"));
  EXPECT_THAT(Read("a.csv", "\xff\xfet\0"), HasSubstr("a.csv: is UTF-16; convert it with iconv"));
  EXPECT_THAT(Read("a.json", "PAR1\x15\x04"), HasSubstr("a.json: is a Parquet file; write it as JSON lines"));
  EXPECT_EQ(
      Read("a.csv", std::string("text,label\na\0,b\n", 16)),
      "a.csv:2: byte 2 of the line is zero (NUL), which no text has; take such bytes out with tr -d '\\000'");
  EXPECT_THAT(Read("a.csv", "text,label\ncaf\xe9,b\n"),
              HasSubstr("a.csv:2: byte 4 of the line is not UTF-8"));
}

TEST_F(RecordsTest, OnlyTheBeginningIsReadWhereThatIsAsked) {
  access_.bytes_max = 16;  // Within the second row.
  EXPECT_EQ(Read("a.csv", "text,label\na,b\n\"c\nd\",e\nf,\xff\n"), "a|b c\nd|e");
  EXPECT_EQ(Read("a.jsonl", "{\"text\": \"a\", \"label\": 1}\nnothing\n\xff"), "a|1");
}

}  // namespace
}  // namespace inlier
