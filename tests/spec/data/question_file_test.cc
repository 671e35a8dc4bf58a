#include "spec/data/question_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace inlier {
namespace {

using testing::HasSubstr;

class QuestionFileTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<FileQuestion>> Read(const std::string& content) {
    return ReadQuestions(folder_.Write("q.jsonl", content), access_);
  }
  // The error of the second of two lines, without the folder.
  std::string ErrorOf(const std::string& line) {
    const auto read = Read(R"({"task": "a", "context": "", "choices": ["x", "y"], "gold": 1})"
                           "\n" +
                           line + "\n");
    if (read.ok()) return "OK";
    const std::string message(read.status().message()), folder = folder_.path().string() + "/";
    return message.starts_with(folder) ? message.substr(folder.size()) : message;
  }

  TemporaryFolder folder_;
  RecordAccess access_;
};

TEST_F(QuestionFileTest, TextsAreTakenAsTheyAre) {
  const auto read = Read(
      "\xEF\xBB\xBF{\"gold\": 2, \"task\": \"piqa\", \"context\": \" a\\n\", \"choices\": [\"\xC3\xBC\", \" "
      "\", \"c\"]}\r\n\n"
      "{\"task\": \"b\", \"context\": \"\", \"choices\": [\"x\", \"y\"], \"gold\": 0}");
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 2u);
  const FileQuestion& question = read->front();
  EXPECT_EQ(question.place, folder_.path().string() + "/q.jsonl:1");
  EXPECT_EQ(question.group, "piqa");
  EXPECT_EQ(question.context, " a\n");
  EXPECT_THAT(question.choices, testing::ElementsAre("\xC3\xBC", " ", "c"));
  EXPECT_EQ(question.gold, 2u);
  EXPECT_EQ(read->back().place, folder_.path().string() + "/q.jsonl:3");
}

TEST_F(QuestionFileTest, EveryMistakeHasItsLineAndKey) {
  const std::string head = R"({"task": "a", "context": "", )";
  EXPECT_THAT(ErrorOf("[1]"), HasSubstr("q.jsonl:2: this is of type array, and a question is an object"));
  EXPECT_THAT(ErrorOf("{"), HasSubstr("q.jsonl:2:"));
  EXPECT_EQ(ErrorOf(R"({"task": "a", "context": "", "choices": ["x", "y"]})"),
            "q.jsonl:2: no \"gold\", which a question needs, with the others of \"task\", \"context\", "
            "\"choices\" and \"gold\"");
  EXPECT_THAT(ErrorOf(head + R"("choices": ["x", "y"], "gold": 0, "label": 1})"),
              HasSubstr("q.jsonl:2: a key \"label\" that a question does not have; known: "));
  for (const char* gold : {"2", "-1", "0.5", "\"0\"", "true", "null", "18446744073709551615"}) {
    EXPECT_EQ(
        ErrorOf(head + R"("choices": ["x", "y"], "gold": )" + gold + "}"),
        "q.jsonl:2: \"gold\" is the place of the right one of the 2 choices: give a whole number from 0 to 1")
        << gold;
  }
  EXPECT_EQ(ErrorOf(head + R"("choices": ["x"], "gold": 0})"),
            "q.jsonl:2: \"choices\" has 1 of them: give a list of two texts or more");
  EXPECT_EQ(ErrorOf(head + R"("choices": "xy", "gold": 0})"),
            "q.jsonl:2: \"choices\" is of type string: give a list of two texts or more");
  EXPECT_EQ(ErrorOf(head + R"("choices": ["x", ""], "gold": 0})"),
            "q.jsonl:2: \"choices\" has at place 1 an empty text, and an answer needs a token: give a text");
  EXPECT_EQ(ErrorOf(head + R"("choices": [0, "x"], "gold": 0})"),
            "q.jsonl:2: \"choices\" has at place 0 number, and an answer needs a token: give a text");
  EXPECT_EQ(ErrorOf(R"({"task": "", "context": "", "choices": ["x", "y"], "gold": 0})"),
            "q.jsonl:2: \"task\" names the results: give 1 to 100 bytes without a line break or a tab");
  EXPECT_EQ(ErrorOf(R"({"task": "a", "context": null, "choices": ["x", "y"], "gold": 0})"),
            "q.jsonl:2: \"context\" is of type null, and a text is needed: \"context\": \"…\"");
  EXPECT_THAT(ErrorOf(head + R"("task": "b", "choices": ["x", "y"], "gold": 0})"), HasSubstr("q.jsonl:2"));
}

TEST_F(QuestionFileTest, KeysOfAFileThatMayNotBeSeenAreNotQuoted) {
  access_.roots = DataRoots::Below({folder_.path()});
  EXPECT_EQ(ErrorOf(R"({"secret": 1})"),
            "q.jsonl:2: a key that a question does not have; leave it out");
}

TEST_F(QuestionFileTest, AFileWithoutAQuestionIsRefused) {
  EXPECT_THAT(std::string(Read("\n").status().message()),
              HasSubstr("q.jsonl: has no question; name a .jsonl file"));
  const absl::Status absent = ReadQuestions("/nothing.jsonl").status();
  EXPECT_EQ(absent.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(absent.message()),
              HasSubstr("evaluation.multiple_choice.path: no file /nothing.jsonl on this machine"));
  std::string many;
  for (int i = 0; i <= 1000; ++i)
    many += "{\"task\": \"" + std::to_string(i) +
            "\", \"context\": \"\", \"choices\": [\"x\", \"y\"], \"gold\": 0}\n";
  EXPECT_THAT(std::string(Read(many).status().message()),
              HasSubstr("q.jsonl:1001: \"task\" is the 1001th of the file"));
}

}  // namespace
}  // namespace inlier
