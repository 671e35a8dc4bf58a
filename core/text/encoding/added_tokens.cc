#include "core/text/encoding/added_tokens.h"

#include <algorithm>
#include <utility>

#include "core/text/encoding/unicode_text.h"

namespace inlier {
namespace {

// The character that ends before `end`; 0 where there is none.
UChar32 CharacterBefore(std::string_view text, size_t end, size_t* begin) {
  if (end == 0) return 0;
  *begin = end - 1;
  while (*begin > 0 && end - *begin < U8_MAX_LENGTH && (static_cast<uint8_t>(text[*begin]) & 0xC0) == 0x80)
    --*begin;
  size_t position = *begin;
  return NextCharacter(text, &position);
}

bool IsAlone(std::string_view text, size_t begin, size_t end) {
  size_t before = 0, after = end;
  return (begin == 0 || !IsWordCharacter(CharacterBefore(text, begin, &before))) &&
         (end == text.size() || !IsWordCharacter(NextCharacter(text, &after)));
}

}  // namespace

TokenFinder::TokenFinder(std::vector<AddedToken> tokens, bool special_is_text)
    : tokens_(std::move(tokens)), special_is_text_(special_is_text) {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    places_.try_emplace(tokens_[i].content, i);
    lengths_[static_cast<uint8_t>(tokens_[i].content[0])].push_back(tokens_[i].content.size());
  }
  for (std::vector<size_t>& lengths : lengths_) {
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  }
}

const AddedToken* TokenFinder::LongestAt(std::string_view rest) const {
  for (const size_t length : lengths_[static_cast<uint8_t>(rest[0])]) {
    if (length > rest.size()) continue;
    const auto found = places_.find(absl::string_view(rest.data(), length));
    if (found != places_.end()) return &tokens_[found->second];
  }
  return nullptr;
}

void TokenFinder::Split(std::string_view text, const Visit& visit) const {
  size_t done = 0;
  for (size_t i = 0; i < text.size() && !tokens_.empty();) {
    const AddedToken* token = LongestAt(text.substr(i));
    if (token == nullptr) {
      ++i;
      continue;
    }
    size_t begin = i, end = i + token->content.size();
    i = end;
    if (token->special && special_is_text_) continue;
    if (token->single_word && !IsAlone(text, begin, end)) continue;
    size_t before = 0;
    while (token->lstrip && begin > done && IsWhiteSpace(CharacterBefore(text, begin, &before)))
      begin = before;
    if (token->lstrip) begin = std::max(begin, done);
    for (size_t after = end; token->rstrip && after < text.size();) {
      if (!IsWhiteSpace(NextCharacter(text, &after))) break;
      end = after;
    }
    if (done < begin) visit(text.substr(done, begin - done), nullptr);
    // White space that the token before has taken leaves nothing of this one.
    if (begin < end) visit(text.substr(begin, end - begin), token);
    done = end;
  }
  if (done < text.size()) visit(text.substr(done), nullptr);
}

}  // namespace inlier
