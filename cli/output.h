// The three output modes of `inlier`: for people, for programs (--json: one JSON value on stdout and nothing
// else), and quiet (--quiet: only the requested value, an id or a table; errors still go to stderr).
#ifndef INLIER_CLI_OUTPUT_H_
#define INLIER_CLI_OUTPUT_H_

#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace inlier {

enum class OutputMode { kPeople, kJson, kQuiet };

// Rows of text in aligned columns; numeric columns are aligned to the right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> headings) : headings_(std::move(headings)) {}
  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  std::string ToString() const;

 private:
  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;
};

// A message as JSON with the field names of the .proto files; unset numbers and texts are included, as 0 and
// "".
std::string ToJson(const google::protobuf::Message& message);

// A specification as JSON: only the fields that are set, so that it reads back as the same.
std::string SpecToJson(const google::protobuf::Message& message);

// The fields that are set, on one line with its end: for streams of messages.
std::string ToJsonLine(const google::protobuf::Message& message);

bool StdoutIsTerminal();
bool StderrIsTerminal();
// Columns of the terminal at stdout, 100 when it is none.
int TerminalWidth();

}  // namespace inlier

#endif  // INLIER_CLI_OUTPUT_H_
