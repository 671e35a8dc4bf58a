#include "spec/data/json_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

// "<line>:<column>:value" of each value, separated by " / ", or the error.
std::string ValuesOf(std::string_view text, RecordForm form = RecordForm::kJson) {
  JsonTexts texts(text, "f", form);
  std::string all;
  for (;;) {
    const absl::StatusOr<bool> more = texts.Next();
    if (!more.ok()) return std::string(more.status().message());
    if (!*more) return all;
    absl::StrAppend(&all, all.empty() ? "" : " / ", texts.line(), ":", texts.column(), ":",
                    std::string(texts.value()));
  }
}

TEST(JsonTextsTest, TheElementsOfAnArray) {
  EXPECT_EQ(ValuesOf("[]"), "");
  EXPECT_EQ(ValuesOf(" [ {\"a\": [1, \"]\", {}]}\n, 3,\n  \"x,\\\"]\"]\n"),
            "1:4:{\"a\": [1, \"]\", {}]} / 2:3:3 / 3:3:\"x,\\\"]\"");
  EXPECT_EQ(ValuesOf("[{}, {}]", RecordForm::kJsonLines), "1:2:{} / 1:6:{}");
}

TEST(JsonTextsTest, ValuesOneAfterAnother) {
  EXPECT_EQ(ValuesOf(""), "");
  EXPECT_EQ(ValuesOf("{\n \"a\": 1}\n{}{} 7"), "1:1:{\n \"a\": 1} / 3:1:{} / 3:3:{} / 3:6:7");
}

TEST(JsonTextsTest, ALineEach) {
  EXPECT_EQ(ValuesOf("{}\n\n  {} {}\r\n", RecordForm::kJsonLines), "1:1:{} / 3:3:{} {}\r");
}

TEST(JsonTextsTest, AnArrayThatDoesNotEndIsNamedByItsLine) {
  EXPECT_EQ(ValuesOf("[{},\n{}\n"),
            "f:3: the array is not closed behind its element 2: is the file complete?");
  EXPECT_EQ(ValuesOf("[{},\n"), "f:2: the array is not closed behind its element 1: is the file complete?");
  EXPECT_EQ(ValuesOf("["), "f:1: the array is not closed behind its element 0: is the file complete?");
  EXPECT_EQ(ValuesOf("[{}\n{}]"), "f:2: no comma between the elements 1 and 2 of the array");
  EXPECT_EQ(ValuesOf("[{}]\n[{}]"), "f:2: text behind the end of the array; one array of objects is read");
  // What is no value is left to its parser.
  EXPECT_EQ(ValuesOf("[{},]"), "f:1: the array is not closed behind its element 2: is the file complete?");
}

}  // namespace
}  // namespace inlier
