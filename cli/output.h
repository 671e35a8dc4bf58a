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
// At most `columns`, with "…" as the last of a text that is longer. REQUIRES: `text` is Shown.
std::string Shorten(std::string_view text, int columns);

// A Shown text in lines of at most `columns`, broken at spaces, the later ones after `indent`; the last of at most
// `lines_max` is shortened.
std::vector<std::string> WrapText(std::string_view text, int columns, std::size_t lines_max,
                                  const std::string& indent = "    ");

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
void PrintNote(std::string_view note);  // As a message that begins with "note: "; empty: none.
void PrintProgress(std::string_view line);

// Rows of text in aligned columns, each cell as Shown(cell, kCell); numeric columns are aligned to the right.
class TextTable {
 public:
  explicit TextTable(const std::vector<std::string>& headings) : headings_(ShownCells(headings)) {}
  void AddRow(const std::vector<std::string>& cells) { rows_.push_back(ShownCells(cells)); }
  bool empty() const { return rows_.empty(); }
  // Of at most `width` columns where that is not 0: the widest cells of text are broken at spaces, into lines below each other.
  // Nothing is cut, so that a table of many columns may be wider still.
  std::string ToString(int width = 0) const;

 private:
  // By column: the widths that they take.
  std::vector<int> Widths(const std::vector<bool>& numeric, int width) const;

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

// "1.5 GiB", "12.0 MiB".
std::string BytesText(std::uint64_t bytes);

bool StdinIsTerminal();
bool StdoutIsTerminal();
bool StderrIsTerminal();
// Prints the question with " [y/N] " and reads the answer; true: yes.
bool Agrees(const std::string& question);
// Columns of the terminal at stdout; 100 where stdout is not one.
int TerminalWidth();
// The same for what a program may read line by line: 0 where stdout is not a terminal.
int FittingWidth();
// Each line of a Shown text within FittingWidth, broken at spaces.
std::string Fitted(std::string_view text);

}  // namespace inlier

#endif  // INLIER_CLI_OUTPUT_H_
