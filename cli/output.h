// The three output modes of `inlier`: for users, for programs (--json: one JSON value on stdout and nothing else), and
// quiet (--quiet: only the requested value, an id or a table; errors still go to stderr). And the only place that writes
// to a terminal: what other users wrote cannot control it.
#ifndef INLIER_CLI_OUTPUT_H_
#define INLIER_CLI_OUTPUT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "nlohmann/json_fwd.hpp"

namespace inlier {

enum class OutputMode { kPeople, kJson, kQuiet };

// A text as a terminal may show it: control characters, those that turn the direction of writing or are invisible, and
// bytes that are not UTF-8 become "\x1b", "\u202e". Everything else is unchanged.
enum class Layout {
  kLines,  // Keeps newlines and tabs: a text of several lines.
  kLine,   // Keeps tabs: a line of a log.
  kCell,   // Keeps neither: "\n" and "\t".
};
std::string Shown(std::string_view text, Layout layout);

// A field of CSV (RFC 4180), in quotes where it needs them. A text that a spreadsheet would take for a formula (=, +, -, @
// or a control character first, and no number) has an apostrophe before it.
std::string CsvField(std::string_view text);

// Columns of a terminal that a Shown line of text takes: two for East Asian characters, none for combining ones.
int Columns(std::string_view text);
// The beginning of a Shown line that takes at most `columns`.
std::string Cut(std::string_view text, int columns);

// Writes to standard output: as Shown(text, kLines); or as it is, for texts that are Shown already.
void Print(std::string_view text);
void PrintExact(std::string_view text);
// Why not all that was printed is on standard output, for example where that is a file and its disk is full.
absl::Status OutputStatus();
// The same for programs: as it is, but Shown where standard output is a terminal. Of JSON bytes that are not UTF-8
// become U+FFFD; `indent`: -1 is one line.
void PrintData(std::string_view text);
void PrintJson(const nlohmann::ordered_json& value, int indent = 2);
// JSON on one line, with U+FFFD for the same bytes.
std::string JsonText(const nlohmann::ordered_json& value);
// Writes to standard error: a message after "inlier: ", or a line of progress in the place of the one before
// (empty: removes it).
void PrintError(std::string_view message);
void PrintProgress(std::string_view line);

// Rows of text in aligned columns, each cell as Shown(cell, kCell); numeric columns are aligned to the right.
class TextTable {
 public:
  explicit TextTable(const std::vector<std::string>& headings) : headings_(ShownCells(headings)) {}
  void AddRow(const std::vector<std::string>& cells) { rows_.push_back(ShownCells(cells)); }
  bool empty() const { return rows_.empty(); }
  std::string ToString() const;

 private:
  static std::vector<std::string> ShownCells(const std::vector<std::string>& cells);

  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;
};

// A message as JSON with the field names of the .proto files; unset numbers and texts are included, as 0 and "".
std::string ToJson(const google::protobuf::Message& message);

// A specification, or a table, as JSON: only the fields that are set, so that it reads back as the same.
std::string SpecToJson(const google::protobuf::Message& message);

// The fields that are set, on one line with its end: for streams of messages.
std::string ToJsonLine(const google::protobuf::Message& message);

bool StdinIsTerminal();
bool StdoutIsTerminal();
bool StderrIsTerminal();
// Columns of the terminal at stdout; 100 where stdout is not one.
int TerminalWidth();

}  // namespace inlier

#endif  // INLIER_CLI_OUTPUT_H_
