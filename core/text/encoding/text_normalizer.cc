#include "core/text/encoding/text_normalizer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "core/text/encoding/json_fields.h"
#include "core/text/encoding/token_pattern.h"
#include "core/text/encoding/unicode_text.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

constexpr int kSequencesMax = 8;  // One in another.

std::string Lower(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) AppendLower(NextCharacter(text, &i), &out);
  return out;
}

std::string WithoutMarks(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const UChar32 c = NextCharacter(text, &i);
    if (!IsMark(c)) AppendUtf8(c, &out);
  }
  return out;
}

std::string Stripped(std::string_view text, bool left, bool right) {
  size_t begin = text.size(), end = 0;  // Of the characters that are not white space.
  for (size_t i = 0; i < text.size();) {
    const size_t at = i;
    if (IsWhiteSpace(NextCharacter(text, &i))) continue;
    begin = std::min(begin, at);
    end = i;
  }
  if (!left) begin = 0;
  if (!right) end = text.size();
  return begin < end ? std::string(text.substr(begin, end - begin)) : "";
}

std::string Replaced(const TokenPattern& pattern, const std::string& content, std::string_view text) {
  std::string out;
  size_t done = 0;
  for (const auto& [begin, end] : pattern.Matches(text)) {
    out += text.substr(done, begin - done);
    out += content;
    done = end;
  }
  out += text.substr(done);
  return out;
}

std::optional<UnicodeForm> FormOf(const std::string& type) {
  if (type == "NFC") return UnicodeForm::kNfc;
  if (type == "NFD") return UnicodeForm::kNfd;
  if (type == "NFKC") return UnicodeForm::kNfkc;
  if (type == "NFKD") return UnicodeForm::kNfkd;
  return std::nullopt;
}

}  // namespace

absl::StatusOr<TextNormalizer> TextNormalizer::Of(const nlohmann::json& value, const std::string& place) {
  TextNormalizer normalizer;
  if (value.is_null()) return normalizer;
  RETURN_IF_ERROR(normalizer.Add(value, place, 0));
  if (normalizer.steps_.size() != 1) normalizer.bert_.reset();
  return normalizer;
}

absl::Status TextNormalizer::Add(const nlohmann::json& value, const std::string& place, int depth) {
  JsonFields fields(value, place);
  const std::string type = fields.Text("type");
  absl::StrAppend(&description_, type, "\n");
  if (type == "BertNormalizer") {
    BertNormalization settings;
    settings.clean_text = fields.Flag("clean_text", true);
    settings.split_ideographs = fields.Flag("handle_chinese_chars", true);
    settings.lowercase = fields.Flag("lowercase", true);
    settings.strip_accents = fields.Flag("strip_accents", settings.lowercase);
    bert_ = settings;
    absl::StrAppend(&description_, settings.clean_text, settings.split_ideographs, settings.lowercase,
                    settings.strip_accents);
    steps_.push_back([settings](const std::string& text) { return BertNormalize(text, settings); });
  } else if (const std::optional<UnicodeForm> form = FormOf(type)) {
    steps_.push_back([form](const std::string& text) { return InForm(*form, text); });
  } else if (type == "Lowercase") {
    steps_.push_back([](const std::string& text) { return Lower(text); });
  } else if (type == "StripAccents") {
    steps_.push_back([](const std::string& text) { return WithoutMarks(text); });
  } else if (type == "Strip") {
    const bool left = fields.Flag("strip_left", true), right = fields.Flag("strip_right", true);
    absl::StrAppend(&description_, left, right);
    steps_.push_back([left, right](const std::string& text) { return Stripped(text, left, right); });
  } else if (type == "Prepend") {
    absl::StrAppend(&description_, fields.Text("prepend"));
    steps_.push_back(
        [prefix = fields.Text("prepend")](std::string text) { return text.empty() ? text : prefix + text; });
  } else if (type == "Replace") {
    ASSIGN_OR_RETURN(const TokenPattern pattern, PatternOf(fields.At("pattern"), fields.PathOf("pattern")));
    absl::StrAppend(&description_,
                    fields.At("pattern").dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                    fields.Text("content"));
    steps_.push_back([pattern, content = fields.Text("content")](const std::string& text) {
      return Replaced(pattern, content, text);
    });
  } else if (type == "Sequence") {
    const nlohmann::json& parts = fields.At("normalizers");
    if (!parts.is_array()) fields.Fail("normalizers", "is not a list");
    if (depth == kSequencesMax) fields.Fail("normalizers", "has too many sequences one in another");
    RETURN_IF_ERROR(fields.Finish());
    for (size_t i = 0; i < parts.size(); ++i)
      RETURN_IF_ERROR(Add(parts[i], absl::StrCat(fields.PathOf("normalizers"), "[", i, "]"), depth + 1));
    return absl::OkStatus();
  } else {
    fields.Fail("type", absl::StrCat(Quoted(type), " is not known to inlier"));
  }
  return fields.Finish();
}

}  // namespace inlier
