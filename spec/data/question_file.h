// Questions with several answers (evaluation.multiple_choice), of which one is right: a JSON object a line,
//
//   {"task": "piqa", "context": "…", "choices": ["…", "…"], "gold": 0}
//
// with these keys and no other. `gold` is the place of the right answer, from 0; `context` may be empty. Texts are taken as
// they are.
//
// Thread safety: pure functions of the file system.
#ifndef INLIER_SPEC_DATA_QUESTION_FILE_H_
#define INLIER_SPEC_DATA_QUESTION_FILE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "spec/data/records.h"

namespace inlier {

// For messages: what evaluation.multiple_choice.path may name.
inline constexpr char kQuestionFiles[] =
    "name a .jsonl file, a line {\"task\": \"…\", \"context\": \"…\", \"choices\": [\"…\", \"…\"], \"gold\": "
    "0} for each question";

struct FileQuestion {
  std::string place;                 // "<file>:<line>", for messages.
  std::string group;                 // Its "task": results are of one group.
  std::string context;               // What stands before an answer.
  std::vector<std::string> choices;  // Two or more, none empty.
  std::size_t gold = 0;
};

// In the order of the file, at least one; those of a group together or not. NotFound: no such file. InvalidArgument with file, line, key and
// remedy. Keys of the file are quoted only where the roots have no limit.
absl::StatusOr<std::vector<FileQuestion>> ReadQuestions(const std::string& path,
                                                        const RecordAccess& access = {});

}  // namespace inlier

#endif  // INLIER_SPEC_DATA_QUESTION_FILE_H_
