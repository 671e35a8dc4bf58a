// The three ways `inlier` speaks: to people, to programs (--json: one JSON value on stdout, nothing else
// there), and not at all (--quiet: only what was asked for, an id or a table; errors still go to stderr).
#ifndef INLIER_CLI_OUTPUT_H_
#define INLIER_CLI_OUTPUT_H_

#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace inlier {

enum class OutputMode { kPeople, kJson, kQuiet };

// Rows of text in aligned columns; numbers (all cells of a column look like one) to the right.
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

// An answer as JSON with the field names of the .proto files; numbers and texts without a value are there
// too, as 0 and "".
std::string ToJson(const google::protobuf::Message& message);

// A specification as JSON: what is set and nothing else, so that it reads back as the same.
std::string SpecToJson(const google::protobuf::Message& message);

// What is set, on one line that it ends: for streams of messages.
std::string ToJsonLine(const google::protobuf::Message& message);

bool StdoutIsTerminal();
bool StderrIsTerminal();
// Columns of the terminal at stdout, 100 when it is none.
int TerminalWidth();

}  // namespace inlier

#endif  // INLIER_CLI_OUTPUT_H_
