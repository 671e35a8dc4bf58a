#include "base/data/utf8_text.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/utf8.h"

namespace inlier {
namespace {

// A form of file that is no text, by its first bytes.
struct OtherForm {
  std::string_view begin;
  const char* what;  // "is …; …".
};
constexpr std::array<OtherForm, 7> kOtherForms = {{
    {"\x1f\x8b", "is compressed by gzip; unpack it with gunzip"},
    {"PK\x03\x04", "is a zip archive or a spreadsheet (.xlsx); unpack it, or save its sheet as CSV in UTF-8"},
    {"\x28\xb5\x2f\xfd", "is compressed by zstd; unpack it with unzstd"},
    {"\xfd"
     "7zXZ",
     "is compressed by xz; unpack it with unxz"},
    {"PAR1",
     "is a Parquet file; write it as JSON lines, for example with pandas: "
     "pandas.read_parquet(FILE).to_json(\"NEW.jsonl\", orient=\"records\", lines=True)"},
    {"\xff\xfe", "is UTF-16; convert it with iconv -f UTF-16 -t UTF-8"},
    {"\xfe\xff", "is UTF-16; convert it with iconv -f UTF-16 -t UTF-8"},
}};

// "<file>:<line>: byte <number> of the line <what>".
absl::Status WrongByte(std::string_view text, std::size_t place, const std::string& file, const char* what) {
  const std::string_view before = text.substr(0, place);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0.
  return absl::InvalidArgumentError(
      absl::StrFormat("%s:%d: byte %d of the line %s", file, line, place - line_begin + 1, what));
}

}  // namespace

absl::Status CheckUtf8(std::string_view text, const std::string& file) {
  const std::size_t place = ValidUtf8Prefix(text);
  if (place == text.size()) return absl::OkStatus();
  return WrongByte(text, place, file,
                   "is not UTF-8; convert the file, for example with iconv -f WINDOWS-1252 -t UTF-8");
}

absl::Status CheckTextFile(std::string_view text, const std::string& file) {
  for (const OtherForm& other : kOtherForms) {
    if (text.starts_with(other.begin))
      return absl::InvalidArgumentError(absl::StrCat(file, ": ", other.what));
  }
  if (absl::Status status = CheckUtf8(text, file); !status.ok()) return status;
  const std::size_t zero = text.find('\0');
  if (zero == std::string_view::npos) return absl::OkStatus();
  return WrongByte(text, zero, file,
                   "is zero (NUL), which no text has; take such bytes out with tr -d '\\000'");
}

}  // namespace inlier
