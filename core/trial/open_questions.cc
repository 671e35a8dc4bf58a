#include "core/trial/open_questions.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "core/text/encoding/unicode_text.h"
#include "spec/data/question_file.h"

namespace inlier {
namespace {

using Ids = std::vector<std::uint32_t>;

// Where the white space at the end of the text begins. Python's str.isspace has four control characters too.
std::size_t EndOfText(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t position = 0; position < text.size();) {
    const UChar32 c = NextCharacter(text, &position);
    if (!IsWhiteSpace(c) && (c < 0x1C || c > 0x1F)) end = position;
  }
  return end;
}

double CharactersOf(std::string_view text) {
  double count = 0;
  for (std::size_t position = 0; position < text.size(); ++count) NextCharacter(text, &position);
  return count;
}

class QuestionEncoder {
 public:
  QuestionEncoder(const Tokenizer& tokenizer, std::int64_t longest)
      : encoder_(tokenizer.MakeEncoder()),
        around_(tokenizer.around()),
        begin_(static_cast<std::uint32_t>(tokenizer.causal_tokens()->begin)),
        begin_text_(tokenizer.Decode(std::array{begin_})),
        longest_(longest) {}

  absl::StatusOr<Question> Encode(const FileQuestion& question) {
    Question encoded{.group = question.group, .choices = {}, .gold = question.gold};
    for (std::size_t i = 0; i < question.choices.size(); ++i) {
      auto [context, continuation] = EncodePair(question.context, absl::StrCat(" ", question.choices[i]));
      const std::string place = absl::StrCat(question.place, ": ");
      if (context.empty())
        return absl::InvalidArgumentError(absl::StrCat(place,
                                                       "\"context\" has no token before the space at its "
                                                       "end: write some text, or leave it empty, \"\""));
      if (continuation.empty())
        return absl::InvalidArgumentError(
            absl::StrCat(place, "\"choices\" has at place ", i,
                         " a text without a token of its own behind the context: write another one"));
      if (static_cast<std::int64_t>(continuation.size()) > longest_)
        return absl::InvalidArgumentError(
            absl::StrCat(place, "\"choices\" has at place ", i, " a text of ", continuation.size(),
                         " tokens, and the model reads ", longest_,
                         " (max_positions): shorten it, or leave the question out"));
      context.insert(context.end(), continuation.begin(), continuation.end());
      const std::size_t kept = std::min(context.size(), static_cast<std::size_t>(longest_) + 1);
      encoded.choices.push_back({.ids = {context.end() - static_cast<std::ptrdiff_t>(kept), context.end()},
                                 .scored = static_cast<std::int64_t>(continuation.size()),
                                 .characters = CharactersOf(question.choices[i])});
    }
    return encoded;
  }

 private:
  // With the tokens around it.
  Ids EncodeText(std::string_view text) {
    Ids ids;
    const bool begun = text.starts_with(begin_text_);
    if (!begun) ids = around_.before;
    encoder_->Encode(text, &ids);
    if (!begun) ids.insert(ids.end(), around_.after.begin(), around_.after.end());
    return ids;
  }

  std::pair<Ids, Ids> EncodePair(std::string_view context, const std::string& continuation) {
    if (context.empty()) {
      Ids ids;
      encoder_->Encode(continuation, &ids);
      if (ids.empty() || ids[0] != begin_) return {{begin_}, std::move(ids)};
      return {{begin_}, {ids.begin() + 1, ids.end()}};
    }
    Ids before = EncodeText(context.substr(0, EndOfText(context)));
    const Ids whole = EncodeText(std::string(context) + continuation);
    return {
        before,
        {whole.begin() + static_cast<std::ptrdiff_t>(std::min(before.size(), whole.size())), whole.end()}};
  }

  const std::unique_ptr<TextEncoder> encoder_;
  const TokenizerDefinition::Around around_;
  const std::uint32_t begin_;
  const std::string begin_text_;
  const std::int64_t longest_;
};

}  // namespace

absl::StatusOr<std::vector<Question>> OpenQuestions(const std::string& path, const Tokenizer& tokenizer,
                                                    std::int64_t longest, const DataRoots& roots) {
  ASSIGN_OR_RETURN(const std::vector<FileQuestion> read, ReadQuestions(path, {.roots = roots}));
  QuestionEncoder encoder(tokenizer, longest);
  std::vector<Question> questions;
  for (const FileQuestion& question : read) {
    ASSIGN_OR_RETURN(Question encoded, encoder.Encode(question));
    questions.push_back(std::move(encoded));
  }
  return questions;
}

}  // namespace inlier
