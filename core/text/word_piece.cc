#include "core/text/word_piece.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/data/text_lines.h"
#include "base/data/utf8_text.h"
#include "base/status.h"
#include "core/text/vocabulary_file.h"

namespace inlier {
namespace {

constexpr std::array<std::string_view, 5> kSpecialSpellings = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

absl::string_view KeyOfText(std::string_view text) { return {text.data(), text.size()}; }

bool IsInsideCharacter(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

size_t CountCharacters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char byte) { return !IsInsideCharacter(byte); });
}

// The longest piece at the start of `rest`, its length in *length.
template <typename Pieces>
std::optional<uint32_t> LongestPiece(const Pieces& pieces, std::string_view rest, size_t longest_bytes,
                                     size_t* length) {
  for (size_t size = std::min(rest.size(), longest_bytes); size > 0; --size) {
    if (size < rest.size() && IsInsideCharacter(rest[size])) continue;
    const auto found = pieces.find(KeyOfText(rest.substr(0, size)));
    if (found == pieces.end()) continue;
    *length = size;
    return found->second;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<WordPieceVocabulary> WordPieceVocabulary::Load(const std::filesystem::path& vocab_txt,
                                                              const DataRoots& roots) {
  ASSIGN_OR_RETURN(const MappedFile file, OpenVocabularyFile(vocab_txt, roots));
  RETURN_IF_ERROR(CheckUtf8(file.bytes(), vocab_txt.string()));
  WordPieceVocabulary vocabulary;
  for (TextLines lines(file.bytes()); lines.Next();) {
    if (vocabulary.tokens_.size() == kVocabularyTokensMax) {
      return absl::InvalidArgumentError(absl::StrCat(vocab_txt.string(), ": more than ", kVocabularyTokensMax,
                                                     " lines are too many for a vocabulary"));
    }
    vocabulary.tokens_.emplace_back(lines.line());
  }
  RETURN_IF_ERROR(vocabulary.Index(vocab_txt));
  return vocabulary;
}

absl::Status WordPieceVocabulary::Index(const std::filesystem::path& vocab_txt) {
  const auto invalid = [&vocab_txt](size_t line, const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(vocab_txt.string(), ":", line, ": ", what));
  };
  absl::flat_hash_map<absl::string_view, uint32_t> lines;
  for (uint32_t id = 0; id < size(); ++id) {
    const std::string& token = tokens_[id];
    if (token.empty()) return invalid(id + 1, "an empty line; a vocabulary has one token a line");
    const auto [first, is_new] = lines.try_emplace(token, id);
    if (!is_new) {
      return invalid(
          id + 1, absl::StrCat("the token of line ", first->second + 1, " again; each token has one line"));
    }
    AddPiece(token, id, WordPieceSettings().prefix);
  }
  for (size_t i = 0; i < kSpecialSpellings.size(); ++i) {
    const auto found = lines.find(KeyOfText(kSpecialSpellings[i]));
    if (found == lines.end()) {
      return absl::InvalidArgumentError(absl::StrCat(vocab_txt.string(), ": none of its ", size(),
                                                     " lines is ", std::string(kSpecialSpellings[i]),
                                                     "; it must be a vocab.txt of BERT"));
    }
    special_ids_[i] = found->second;
  }
  return absl::OkStatus();
}

void WordPieceVocabulary::AddPiece(const std::string& token, uint32_t id, const std::string& prefix) {
  longest_bytes_ = std::max(longest_bytes_, token.size());
  beginnings_[token] = id;
  if (token.starts_with(prefix) && token.size() > prefix.size())
    continuations_[token.substr(prefix.size())] = id;
}

absl::StatusOr<WordPieceVocabulary> WordPieceVocabulary::Make(
    const absl::flat_hash_map<std::string, uint32_t>& ids, const WordPieceSettings& settings) {
  WordPieceVocabulary vocabulary;
  for (const auto& [token, id] : ids) vocabulary.AddPiece(token, id, settings.prefix);
  const auto unknown = ids.find(settings.unknown);
  if (unknown == ids.end()) return absl::InvalidArgumentError("unk_token: is not a token of the vocabulary");
  vocabulary.special_ids_[1] = unknown->second;
  vocabulary.max_characters_ = settings.max_characters;
  return vocabulary;
}

void WordPieceVocabulary::EncodeWord(std::string_view word, std::vector<uint32_t>* ids) const {
  const size_t before = ids->size();
  bool spelt = CountCharacters(word) <= max_characters_;
  for (size_t begin = 0; spelt && begin < word.size();) {
    size_t length = 0;
    const auto piece =
        LongestPiece(begin == 0 ? beginnings_ : continuations_, word.substr(begin), longest_bytes_, &length);
    spelt = piece.has_value();
    if (!spelt) break;
    ids->push_back(*piece);
    begin += length;
  }
  if (spelt) return;
  ids->resize(before);
  ids->push_back(unknown_id());
}

}  // namespace inlier
