#include "cli/output.h"

#include <google/protobuf/util/json_util.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/status.h"
#include "base/utf8.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

// A character of UTF-8, with its length in bytes.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
};
// REQUIRES: `text` begins with a whole one.
Character FirstCharacter(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  char32_t code = first & (0xff >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3f);
  return {code, bytes};
}

int ColumnsOf(char32_t code) {
  static const locale_t kUtf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (code < 0x300 || kUtf8 == nullptr) return 1;
  const locale_t before = uselocale(kUtf8);
  const int columns = wcwidth(static_cast<wchar_t>(code));
  uselocale(before);
  return columns < 0 ? 1 : columns;
}

// True for what changes the state of a terminal, the order of what it shows, or is not to be seen.
bool IsHidden(char32_t code) {
  struct Range {
    char32_t first, last;
  };
  static constexpr Range kHidden[] = {
      {0x00, 0x1f},     {0x7f, 0x9f},                        // C0, DEL, C1.
      {0xad, 0xad},     {0x61c, 0x61c},   {0x180e, 0x180e},  // Soft hyphen, Arabic letter mark.
      {0x200b, 0x200f}, {0x2028, 0x202e},                    // No width; marks of direction; line separators.
      {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
  return std::any_of(std::begin(kHidden), std::end(kHidden),
                     [code](const Range& range) { return range.first <= code && code <= range.last; });
}

std::string EscapeOf(char32_t code) {
  const auto number = static_cast<unsigned>(code);
  if (code == '\n') return "\\n";
  if (code == '\t') return "\\t";
  if (code == '\r') return "\\r";
  if (code <= 0xff) return absl::StrFormat("\\x%02x", number);
  return code <= 0xffff ? absl::StrFormat("\\u%04x", number) : absl::StrFormat("\\U%08x", number);
}

int output_error = 0;  // The errno of standard output.

void Write(std::FILE* file, std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  // Output to a pipe without a reader is dropped.
  if (!written && file == stdout && errno != EPIPE && output_error == 0) output_error = errno;
}

bool LooksNumeric(const std::string& text) {
  if (text.empty() || text == "-") return true;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return end != text.c_str() && (*end == '\0' || *end == '%');
}

std::string MessageJson(const google::protobuf::Message& message, bool unset_too, bool spaced) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = unset_too;
  options.add_whitespace = spaced;
  std::string json;
  INLIER_CHECK(google::protobuf::util::MessageToJsonString(message, &json, options).ok());
  return json;
}

}  // namespace

std::string Shown(std::string_view text, Layout layout) {
  std::string shown;
  std::size_t valid = ValidUtf8Prefix(text);
  for (std::size_t at = 0; at < text.size();) {
    if (at == valid) {
      absl::StrAppend(&shown, EscapeOf(static_cast<unsigned char>(text[at++])));
      valid = at + ValidUtf8Prefix(text.substr(at));
      continue;
    }
    const Character character = FirstCharacter(text.substr(at));
    const bool kept = (character.code == '\n' && layout == Layout::kLines) ||
                      (character.code == '\t' && layout != Layout::kCell) || !IsHidden(character.code);
    if (kept) {
      shown.append(text.substr(at, character.bytes));
    } else {
      absl::StrAppend(&shown, EscapeOf(character.code));
    }
    at += character.bytes;
  }
  return shown;
}

std::string CsvField(std::string_view text) {
  const bool formula = !text.empty() &&
                       std::string_view("=+-@\t\r").find(text[0]) != std::string_view::npos &&
                       !LooksNumeric(std::string(text));
  const std::string guarded = (formula ? "'" : "") + std::string(text);
  if (guarded.find_first_of(",\"\r\n") == std::string::npos) return guarded;
  return absl::StrCat("\"", absl::StrReplaceAll(guarded, {{"\"", "\"\""}}), "\"");
}

int Columns(std::string_view text) {
  int columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character character = FirstCharacter(text.substr(at));
    columns += ColumnsOf(character.code);
    at += character.bytes;
  }
  return columns;
}

std::string Cut(std::string_view text, int columns) {
  for (std::size_t at = 0; at < text.size();) {
    const Character character = FirstCharacter(text.substr(at));
    columns -= ColumnsOf(character.code);
    if (columns < 0) return std::string(text.substr(0, at));
    at += character.bytes;
  }
  return std::string(text);
}

std::string Shorten(std::string_view text, int columns) {
  if (Columns(text) <= columns) return std::string(text);
  return columns <= 0 ? "" : absl::StrCat(Cut(text, columns - 1), "…");
}

std::vector<std::string> WrapText(std::string_view text, int columns, std::size_t lines_max,
                                  const std::string& indent) {
  std::vector<std::string> lines;
  std::string rest(text);
  while (lines.size() + 1 < lines_max && Columns(rest) > columns) {
    std::string line = Cut(rest, columns);
    if (line.empty()) break;
    if (const std::size_t space = line.rfind(' ');
        rest[line.size()] != ' ' && space != std::string::npos && space > line.size() / 2)
      line.resize(space);
    rest = absl::StrCat(indent, absl::StripLeadingAsciiWhitespace(rest.substr(line.size())));
    lines.push_back(std::move(line));
  }
  lines.push_back(Shorten(rest, columns));
  return lines;
}

void Print(std::string_view text) { Write(stdout, Shown(text, Layout::kLines)); }

void PrintExact(std::string_view text) { Write(stdout, text); }

absl::Status OutputStatus() {
  errno = output_error;
  return errno == 0 ? absl::OkStatus() : ErrnoStatus("cannot write all of the output");
}

void PrintData(std::string_view text) { StdoutIsTerminal() ? Print(text) : PrintExact(text); }

std::string JsonText(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void PrintJson(const nlohmann::ordered_json& value, int indent) {
  // On a terminal in ASCII, which is JSON still.
  PrintExact(value.dump(indent, ' ', StdoutIsTerminal(), nlohmann::json::error_handler_t::replace) + "\n");
}

void PrintError(std::string_view message) {
  Write(stderr, absl::StrCat("inlier: ", Shown(message, Layout::kLines), "\n"));
}

void PrintNote(std::string_view note) {
  if (!note.empty()) PrintError("note: " + std::string(note));
}

void PrintProgress(std::string_view line) {
  Write(stderr, absl::StrCat("\r\x1b[K", Shown(line, Layout::kCell)));
}

namespace {

// The width of a column that may be broken; 0 of one with numbers.
int Breadth(const std::vector<int>& widths, const std::vector<bool>& numeric, size_t column) {
  return numeric[column] ? 0 : widths[column];
}

}  // namespace

std::vector<std::string> TextTable::ShownCells(const std::vector<std::string>& cells) {
  std::vector<std::string> shown;
  for (const std::string& cell : cells) shown.push_back(Shown(cell, Layout::kCell));
  return shown;
}

std::vector<int> TextTable::Widths(const std::vector<bool>& numeric, int width) const {
  constexpr int kNarrowest = 8;  // A column that is broken into lines.
  std::vector<int> widths;
  for (const std::string& heading : headings_) widths.push_back(Columns(heading));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size() && i < widths.size(); ++i)
      widths[i] = std::max(widths[i], Columns(row[i]));
  }
  int total = std::accumulate(widths.begin(), widths.end(), 2 * (static_cast<int>(widths.size()) - 1));
  for (; width > 0 && total > width; --total) {
    const auto widest = [&](size_t a, size_t b) {
      return Breadth(widths, numeric, a) < Breadth(widths, numeric, b);
    };
    std::vector<size_t> columns(widths.size());
    std::iota(columns.begin(), columns.end(), size_t{0});
    const size_t at = *std::ranges::max_element(columns, widest);
    if (Breadth(widths, numeric, at) <= kNarrowest) break;
    --widths[at];
  }
  return widths;
}

std::string TextTable::ToString(int width) const {
  std::vector<bool> numeric(headings_.size(), !rows_.empty());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size() && i < numeric.size(); ++i)
      numeric[i] = numeric[i] && LooksNumeric(row[i]);
  }
  const std::vector<int> widths = Widths(numeric, width);
  std::string out;
  auto append = [&](const std::vector<std::string>& row) {
    std::vector<std::vector<std::string>> cells(widths.size());
    size_t lines = 1;
    for (size_t i = 0; i < widths.size(); ++i) {
      cells[i] = WrapText(i < row.size() ? row[i] : "", widths[i], std::string::npos, "");
      lines = std::max(lines, cells[i].size());
    }
    for (size_t at = 0; at < lines; ++at) {
      std::string line;
      for (size_t i = 0; i < widths.size(); ++i) {
        const std::string cell = at < cells[i].size() ? cells[i][at] : "";
        const std::string padding(static_cast<size_t>(widths[i] - Columns(cell)), ' ');
        if (i > 0) line += "  ";
        line += numeric[i] ? padding + cell : cell + padding;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
  };
  append(headings_);
  for (const auto& row : rows_) append(row);
  return out;
}

std::string ToJson(const google::protobuf::Message& message) { return MessageJson(message, true, true); }

std::string SpecToJson(const google::protobuf::Message& message) { return MessageJson(message, false, true); }

std::string ToJsonLine(const google::protobuf::Message& message) {
  return MessageJson(message, false, false) + "\n";
}

std::string BytesText(std::uint64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  return mebibytes < 1024 ? absl::StrFormat("%.1f MiB", mebibytes)
                          : absl::StrFormat("%.1f GiB", mebibytes / 1024);
}

bool Agrees(const std::string& question) {
  Print(absl::StrCat(question, " [y/N] "));
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

bool StdinIsTerminal() { return isatty(STDIN_FILENO) == 1; }
bool StdoutIsTerminal() { return isatty(STDOUT_FILENO) == 1; }
bool StderrIsTerminal() { return isatty(STDERR_FILENO) == 1; }

int TerminalWidth() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;
}

int FittingWidth() { return StdoutIsTerminal() ? TerminalWidth() : 0; }

std::string Fitted(std::string_view text) {
  const int width = FittingWidth();
  if (width == 0) return std::string(text);
  std::string fitted;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(absl::StripSuffix(std::string(text), "\n"), '\n'))) {
    for (const std::string& part : WrapText(line, width, std::string::npos))
      absl::StrAppend(&fitted, part, "\n");
  }
  return fitted;
}

}  // namespace inlier
