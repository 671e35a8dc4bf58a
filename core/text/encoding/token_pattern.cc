#include "core/text/encoding/token_pattern.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status.h"
#include "core/text/encoding/json_fields.h"
#include "unicode/regex.h"
#include "unicode/unistr.h"
#include "unicode/utext.h"

namespace inlier {
namespace {

constexpr size_t kPatternBytesMax = 4096;
constexpr int kGroupsMax = 32;  // One in another.
// In one alternative: each may be tried with every length of a run, so that the time grows with the run to this power.
constexpr int kRepetitionsMax = 8;

// Reads a pattern and writes it for ICU.
class PatternReader {
 public:
  explicit PatternReader(std::string_view pattern) : pattern_(pattern) {}

  absl::StatusOr<std::string> Translate() {
    if (pattern_.size() > kPatternBytesMax)
      return absl::InvalidArgumentError(absl::StrCat("more than ", kPatternBytesMax, " bytes are not read"));
    int depth = 0;
    while (position_ < pattern_.size()) {
      const char c = pattern_[position_];
      if (c == '(') {
        if (++depth > kGroupsMax) return No("groups in so many groups");
        RETURN_IF_ERROR(OpenGroup());
      } else if (c == ')') {
        if (--depth < 0) return No("an end of a group that is not open");
        Copy(1);
        // Loops in a loop may take time without bound.
        if (Rest().starts_with("*") || Rest().starts_with("+") || Rest().starts_with("{"))
          return No("a group that is repeated");
        RETURN_IF_ERROR(Repetition());
      } else if (c == '|') {
        if (depth == 0) repetitions_ = 0;
        Copy(1);
      } else if (c == '[') {
        RETURN_IF_ERROR(Class());
        RETURN_IF_ERROR(Repetition());
      } else if (c == '\\') {
        RETURN_IF_ERROR(Escape());
        RETURN_IF_ERROR(Repetition());
      } else if (std::string_view(".^$*+?{}]#").find(c) != std::string_view::npos) {
        return No("this sign here");
      } else {
        CopyCharacter();
        RETURN_IF_ERROR(Repetition());
      }
    }
    if (depth > 0) return No("the end inside a group");
    return out_;
  }

 private:
  absl::Status No(std::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("the regular expression is not read: ", std::string(what),
                                                   ", at its byte ", position_ + 1));
  }
  std::string_view Rest() const { return pattern_.substr(position_); }
  void Copy(size_t count) {
    out_ += pattern_.substr(position_, count);
    position_ += count;
  }
  void CopyCharacter() {
    do Copy(1);
    while (position_ < pattern_.size() && (static_cast<unsigned char>(pattern_[position_]) & 0xC0) == 0x80);
  }

  absl::Status OpenGroup() {
    for (const std::string_view kind : {"(?:", "(?i:", "(?!"}) {
      if (!Rest().starts_with(kind)) continue;
      Copy(kind.size());
      return absl::OkStatus();
    }
    if (Rest().starts_with("(?")) return No("a group of this kind");
    out_ += "(?:";
    ++position_;
    return absl::OkStatus();
  }

  absl::Status Escape() {
    static const std::set<std::string_view> kCategories = {
        "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N",  "Nd", "Nl", "No", "P", "Pc",
        "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S", "Sm", "Sc", "Sk", "So", "Z",  "Zs", "Zl", "Zp"};
    if (Rest().size() < 2) return No("an escape without a sign");
    const char c = Rest()[1];
    if (c == 's' || c == 'S') {
      out_ += c == 's' ? "\\p{White_Space}" : "\\P{White_Space}";
      position_ += 2;
      return absl::OkStatus();
    }
    if (c == 'p' || c == 'P') {
      const size_t end = Rest().find('}');
      if (Rest().size() < 4 || Rest()[2] != '{' || end == std::string_view::npos ||
          kCategories.count(Rest().substr(3, end - 3)) == 0)
        return No("a property other than a category");
      Copy(end + 1);
      return absl::OkStatus();
    }
    if (std::string_view("dDrnt.^$*+?(){}[]|\\/-'\"!,;:#&~@=<>%_ ").find(c) == std::string_view::npos)
      return No("this escape");
    // A sign that has no meaning needs none in ICU either.
    Copy(2);
    return absl::OkStatus();
  }

  absl::Status Class() {
    Copy(1);
    if (Rest().starts_with("^")) Copy(1);
    if (Rest().starts_with("]")) return No("an empty class");
    while (!Rest().empty() && Rest()[0] != ']') {
      if (Rest()[0] == '\\') {
        RETURN_IF_ERROR(Escape());
      } else if (Rest()[0] == '[' || Rest().starts_with("&&") || Rest().starts_with("--")) {
        return No("a class in a class");
      } else if (std::string_view("^${}&").find(Rest()[0]) != std::string_view::npos) {
        out_ += '\\';
        Copy(1);
      } else {
        CopyCharacter();
      }
    }
    if (Rest().empty()) return No("the end inside a class");
    Copy(1);
    return absl::OkStatus();
  }

  absl::Status Repetition() {
    if (Rest().empty() || std::string_view("?*+{").find(Rest()[0]) == std::string_view::npos)
      return absl::OkStatus();
    if (++repetitions_ > kRepetitionsMax) return No("so many repetitions in one alternative");
    if (std::string_view("?*+").find(Rest()[0]) != std::string_view::npos) {
      Copy(1);
      if (!Rest().empty() && (Rest()[0] == '?' || Rest()[0] == '+')) Copy(1);
    } else if (Rest()[0] == '{') {
      size_t end = 1;
      while (end < Rest().size() &&
             ((Rest()[end] >= '0' && Rest()[end] <= '9') || (end > 1 && Rest()[end] == ',')))
        ++end;
      if (end == 1 || end > 8 || end == Rest().size() || Rest()[end] != '}')
        return No("this number of repetitions");
      Copy(end + 1);
    }
    if (!Rest().empty() && std::string_view("?*+{").find(Rest()[0]) != std::string_view::npos)
      return No("a repetition of a repetition");
    return absl::OkStatus();
  }

  const std::string_view pattern_;
  size_t position_ = 0;
  int repetitions_ = 0;
  std::string out_;
};

}  // namespace

struct TokenPattern::Compiled {
  std::unique_ptr<icu::RegexPattern> pattern;
};

absl::StatusOr<TokenPattern> TokenPattern::Regex(const std::string& pattern) {
  ASSIGN_OR_RETURN(const std::string translated, PatternReader(pattern).Translate());
  UErrorCode error = U_ZERO_ERROR;
  UParseError place;
  auto compiled = std::make_shared<Compiled>();
  compiled->pattern.reset(
      icu::RegexPattern::compile(icu::UnicodeString::fromUTF8(translated), 0, place, error));
  if (U_FAILURE(error))
    return absl::InvalidArgumentError("the regular expression is not read: its form is wrong");
  TokenPattern made;
  made.regex_ = std::move(compiled);
  if (!made.Matches("").empty())
    return absl::InvalidArgumentError("the regular expression is not read: it matches an empty text");
  return made;
}

absl::StatusOr<TokenPattern> TokenPattern::Literal(const std::string& text) {
  if (text.empty()) return absl::InvalidArgumentError("an empty text is not looked for");
  TokenPattern made;
  made.literal_ = text;
  return made;
}

std::vector<TextRange> TokenPattern::Matches(std::string_view text) const {
  std::vector<TextRange> matches;
  if (regex_ == nullptr) {
    for (size_t at = text.find(literal_); at != std::string_view::npos;
         at = text.find(literal_, at + literal_.size()))
      matches.emplace_back(at, at + literal_.size());
    return matches;
  }
  UErrorCode error = U_ZERO_ERROR;
  UText* input = utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &error);
  const std::unique_ptr<icu::RegexMatcher> matcher(regex_->pattern->matcher(error));
  INLIER_CHECK(U_SUCCESS(error));
  matcher->setStackLimit(0, error);  // No limit.
  matcher->reset(input);
  while (matcher->find(error)) matches.emplace_back(matcher->start64(error), matcher->end64(error));
  INLIER_CHECK(U_SUCCESS(error));
  utext_close(input);
  return matches;
}

absl::StatusOr<TokenPattern> PatternOf(const nlohmann::json& value, const std::string& place) {
  JsonFields fields(value, place);
  const char* kind = fields.Has("Regex") ? "Regex" : "String";
  const std::string text = fields.Text(kind);
  RETURN_IF_ERROR(fields.Finish());
  absl::StatusOr<TokenPattern> pattern =
      fields.Has("Regex") ? TokenPattern::Regex(text) : TokenPattern::Literal(text);
  if (!pattern.ok()) fields.Fail(kind, std::string(pattern.status().message()));
  return pattern.ok() ? std::move(pattern) : absl::StatusOr<TokenPattern>(fields.status());
}

}  // namespace inlier
