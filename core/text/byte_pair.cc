#include "core/text/byte_pair.h"

#include <algorithm>
#include <array>
#include <queue>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/json_text.h"
#include "base/mapped_file.h"
#include "base/status.h"
#include "core/text/pre_tokenizer.h"
#include "core/text/vocabulary_file.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

constexpr char kMergesHeader[] = "#version: 0.2";

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

void AppendUtf8(char32_t c, std::string* out) {
  if (c < 0x80) {
    out->push_back(static_cast<char>(c));
  } else {  // The table below ends at U+0143: two bytes.
    out->push_back(static_cast<char>(0xC0 | c >> 6));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  }
}

// The files' alphabet: printable bytes stand for themselves, the 68 others for U+0100, U+0101, … in their
// order.
struct ByteAlphabet {
  std::array<std::string, 256> printable;
  absl::flat_hash_map<std::string, uint8_t> byte_of;

  ByteAlphabet() {
    char32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool itself =
          (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
      AppendUtf8(itself ? static_cast<char32_t>(byte) : next++, &printable[byte]);
      byte_of[printable[byte]] = static_cast<uint8_t>(byte);
    }
  }
};

const ByteAlphabet& Alphabet() {
  static const ByteAlphabet alphabet;
  return alphabet;
}

std::string ToPrintable(std::string_view bytes) {
  std::string printable;
  for (const char byte : bytes) printable += Alphabet().printable[static_cast<uint8_t>(byte)];
  return printable;
}

// The bytes of a printable spelling; nothing when a character is not of the alphabet.
std::optional<std::string> FromPrintable(std::string_view printable) {
  std::string bytes;
  for (size_t i = 0; i < printable.size();) {
    const size_t length = static_cast<uint8_t>(printable[i]) < 0x80 ? 1 : 2;
    const auto found = Alphabet().byte_of.find(View(printable.substr(i, length)));
    if (found == Alphabet().byte_of.end()) return std::nullopt;
    bytes.push_back(static_cast<char>(found->second));
    i += length;
  }
  return bytes;
}

uint64_t PairKey(uint32_t left, uint32_t right) { return static_cast<uint64_t>(left) << 32 | right; }

// vocab.json: an object of tokens and ids. The ids are 0 … size - 1, each once.
absl::StatusOr<std::vector<std::string>> ReadVocabJson(const std::filesystem::path& path,
                                                       const DataRoots& roots) {
  ASSIGN_OR_RETURN(const MappedFile file, OpenVocabularyFile(path, roots));
  ASSIGN_OR_RETURN(const nlohmann::json root, ParseJsonText(file.bytes(), path.string(), 1,
                                                            {.bytes_max = kVocabularyBytesMax,
                                                             .values_max = 2 * kVocabularyTokensMax + 2}));
  if (!root.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(path.string(), ": not a JSON object of tokens and ids"));
  }
  std::vector<std::string> tokens(root.size());
  std::vector<bool> seen(root.size(), false);
  for (const auto& [token, id] : root.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= root.size() || seen[id.get<uint64_t>()]) {
      return absl::InvalidArgumentError(absl::StrCat(path.string(),
                                                     ": a token's id is missing or given twice; ",
                                                     "ids must be 0 to ", root.size() - 1, ", each once"));
    }
    seen[id.get<uint64_t>()] = true;
    tokens[id.get<uint64_t>()] = token;
  }
  return tokens;
}

}  // namespace

absl::StatusOr<BytePairVocabulary> BytePairVocabulary::FromMerges(
    const std::vector<std::string>& special_tokens, const std::vector<Merge>& merges) {
  BytePairVocabulary vocabulary;
  absl::flat_hash_map<std::string, uint32_t> spellings;  // As in vocab.json.
  const auto add = [&](std::string bytes, std::string spelling) {
    const auto id = static_cast<uint32_t>(vocabulary.tokens_.size());
    vocabulary.tokens_.push_back(std::move(bytes));
    return spellings.try_emplace(std::move(spelling), id).second;
  };
  for (const std::string& token : special_tokens) {
    vocabulary.special_ids_.push_back(vocabulary.size());
    if (token.empty() || !add(token, token)) {
      return absl::InvalidArgumentError(
          absl::StrCat("special token \"", token, "\" is empty or named twice"));
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.byte_ids_[byte] = vocabulary.size();
    const std::string bytes(1, static_cast<char>(byte));
    if (!add(bytes, ToPrintable(bytes))) {
      return absl::InvalidArgumentError(
          absl::StrCat("special token \"", bytes, "\" is spelt as a byte's token is"));
    }
  }
  for (const auto& [left, right] : merges) {
    if (std::max(left, right) >= vocabulary.size() || vocabulary.IsSpecial(left) ||
        vocabulary.IsSpecial(right)) {
      return absl::InvalidArgumentError(absl::StrCat("merge ", vocabulary.merges_.size(), " joins ", left,
                                                     " and ", right, ", which it cannot"));
    }
    const auto rank = static_cast<uint32_t>(vocabulary.merges_.size());
    vocabulary.joined_[PairKey(left, right)] = {rank, vocabulary.size()};
    vocabulary.merges_.emplace_back(left, right);
    std::string bytes = vocabulary.tokens_[left] + vocabulary.tokens_[right];
    std::string spelling = ToPrintable(bytes);
    if (!add(std::move(bytes), spelling)) {
      return absl::InvalidArgumentError(
          absl::StrCat("merge ", rank, " spells \"", spelling, "\" a second time"));
    }
  }
  return vocabulary;
}

absl::StatusOr<BytePairVocabulary> BytePairVocabulary::Load(const std::filesystem::path& vocab_json,
                                                            const std::filesystem::path& merges_txt,
                                                            const DataRoots& roots) {
  ASSIGN_OR_RETURN(const std::vector<std::string> spellings, ReadVocabJson(vocab_json, roots));
  absl::flat_hash_map<std::string, uint32_t> id_of;
  for (uint32_t id = 0; id < spellings.size(); ++id) id_of[spellings[id]] = id;

  BytePairVocabulary vocabulary;
  std::vector<bool> ordinary(spellings.size(), false);
  for (int byte = 0; byte < 256; ++byte) {
    const auto found = id_of.find(Alphabet().printable[byte]);
    if (found == id_of.end()) {
      return absl::InvalidArgumentError(absl::StrCat(vocab_json.string(), ": no token for the byte ", byte,
                                                     " (\"", Alphabet().printable[byte],
                                                     "\"): not the vocabulary of a byte-level BPE"));
    }
    vocabulary.byte_ids_[byte] = found->second;
    ordinary[found->second] = true;
  }

  ASSIGN_OR_RETURN(const MappedFile file, OpenVocabularyFile(merges_txt, roots));
  const std::string_view text = file.bytes();
  int line_number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++line_number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || (line_number == 1 && line.starts_with("#version"))) continue;
    const size_t space = line.find(' ');
    const std::string_view left = line.substr(0, space);
    const std::string_view right =
        space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
    const auto left_id = id_of.find(View(left));
    const auto right_id = id_of.find(View(right));
    const auto joined_id = id_of.find(absl::StrCat(View(left), View(right)));
    if (left_id == id_of.end() || right_id == id_of.end() || joined_id == id_of.end()) {
      return absl::InvalidArgumentError(absl::StrCat(merges_txt.string(), ":", line_number,
                                                     ": not two tokens of ", vocab_json.string(),
                                                     " whose joined spelling is a token too"));
    }
    const auto rank = static_cast<uint32_t>(vocabulary.merges_.size());
    const bool is_new =
        vocabulary.joined_
            .try_emplace(PairKey(left_id->second, right_id->second), Joined{rank, joined_id->second})
            .second;
    if (!is_new) {
      return absl::InvalidArgumentError(
          absl::StrCat(merges_txt.string(), ":", line_number, ": the merge of an earlier line again"));
    }
    vocabulary.merges_.emplace_back(left_id->second, right_id->second);
    ordinary[joined_id->second] = true;
  }

  for (uint32_t id = 0; id < spellings.size(); ++id) {
    const std::optional<std::string> bytes = ordinary[id] ? FromPrintable(spellings[id]) : std::nullopt;
    if (!bytes.has_value()) vocabulary.special_ids_.push_back(id);
    vocabulary.tokens_.push_back(bytes.value_or(spellings[id]));
  }
  return vocabulary;
}

std::string BytePairVocabulary::VocabJson() const {
  std::string json = "{";
  for (uint32_t id = 0; id < size(); ++id) {
    const std::string spelling = IsSpecial(id) ? tokens_[id] : ToPrintable(tokens_[id]);
    absl::StrAppend(&json, id == 0 ? "" : ", ", nlohmann::json(spelling).dump(), ": ", id);
  }
  return json + "}";
}

std::string BytePairVocabulary::MergesTxt() const {
  std::string text = absl::StrCat(kMergesHeader, "\n");
  for (const auto& [left, right] : merges_) {
    absl::StrAppend(&text, ToPrintable(tokens_[left]), " ", ToPrintable(tokens_[right]), "\n");
  }
  return text;
}

bool BytePairVocabulary::IsSpecial(uint32_t id) const {
  return std::binary_search(special_ids_.begin(), special_ids_.end(), id);
}

std::optional<uint32_t> BytePairVocabulary::SpecialId(std::string_view token) const {
  for (const uint32_t id : special_ids_) {
    if (tokens_[id] == token) return id;
  }
  return std::nullopt;
}

std::string BytePairVocabulary::Decode(std::span<const uint32_t> ids) const {
  std::string bytes;
  for (const uint32_t id : ids) {
    INLIER_CHECK(id < size());
    bytes += tokens_[id];
  }
  return bytes;
}

void BytePairEncoder::Encode(std::string_view text, std::vector<uint32_t>* ids) {
  size_t position = 0;
  for (std::string_view word = NextWord(text, &position); !word.empty(); word = NextWord(text, &position)) {
    if (memory_.Recall(word, ids)) continue;
    const size_t before = ids->size();
    EncodeWord(word, ids);
    memory_.Remember(word, std::span(*ids).subspan(before));
  }
}

void BytePairEncoder::EncodeWithSpecialTokens(std::string_view text, std::vector<uint32_t>* ids) {
  while (!text.empty()) {
    size_t first = text.size();
    std::optional<uint32_t> special;
    for (const uint32_t id : vocabulary_.special_ids()) {
      const std::string_view token = vocabulary_.TokenBytes(id);
      const size_t found = text.find(token);
      if (found == std::string_view::npos) continue;
      if (!special.has_value() || found < first ||
          (found == first && token.size() > vocabulary_.TokenBytes(*special).size())) {
        first = found;
        special = id;
      }
    }
    Encode(text.substr(0, first), ids);
    if (!special.has_value()) return;
    ids->push_back(*special);
    text.remove_prefix(first + vocabulary_.TokenBytes(*special).size());
  }
}

void BytePairEncoder::EncodeWord(std::string_view word, std::vector<uint32_t>* ids) {
  constexpr size_t kLongWord = 48;
  pieces_.clear();
  for (const char byte : word) pieces_.push_back(vocabulary_.ByteId(static_cast<uint8_t>(byte)));
  if (pieces_.size() > kLongWord) {
    EncodeLongWord(&pieces_);
  } else {
    for (;;) {
      uint32_t best_rank = UINT32_MAX;
      uint32_t best_id = 0;
      size_t best_place = 0;
      for (size_t i = 0; i + 1 < pieces_.size(); ++i) {
        const BytePairVocabulary::Joined* joined = vocabulary_.FindMerge(pieces_[i], pieces_[i + 1]);
        if (joined != nullptr && joined->rank < best_rank) {
          best_rank = joined->rank;
          best_id = joined->id;
          best_place = i;
        }
      }
      if (best_rank == UINT32_MAX) break;
      pieces_[best_place] = best_id;
      pieces_.erase(pieces_.begin() + best_place + 1);
    }
  }
  ids->insert(ids->end(), pieces_.begin(), pieces_.end());
}

// The same result in n log n steps: a list of pieces and a queue of possible merges, lowest rank and leftmost
// first.
void BytePairEncoder::EncodeLongWord(std::vector<uint32_t>* pieces) const {
  const auto count = static_cast<uint32_t>(pieces->size());
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t>& piece = *pieces;
  std::vector<uint32_t> next(count), previous(count);
  std::vector<bool> alive(count, true);
  for (uint32_t i = 0; i < count; ++i) {
    next[i] = i + 1 < count ? i + 1 : kNone;
    previous[i] = i > 0 ? i - 1 : kNone;
  }
  // (rank, place, left, right): stale when the pieces at the place have changed.
  using Candidate = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto consider = [&](uint32_t place) {
    if (place == kNone || next[place] == kNone) return;
    const auto* joined = vocabulary_.FindMerge(piece[place], piece[next[place]]);
    if (joined != nullptr) queue.emplace(joined->rank, place, piece[place], piece[next[place]]);
  };
  for (uint32_t i = 0; i < count; ++i) consider(i);
  while (!queue.empty()) {
    const auto [rank, place, left, right] = queue.top();
    queue.pop();
    const uint32_t gone = alive[place] ? next[place] : kNone;
    if (gone == kNone || piece[place] != left || piece[gone] != right) continue;
    piece[place] = vocabulary_.FindMerge(left, right)->id;
    alive[gone] = false;
    next[place] = next[gone];
    if (next[place] != kNone) previous[next[place]] = place;
    consider(previous[place]);
    consider(place);
  }
  size_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (alive[i]) piece[kept++] = piece[i];
  }
  piece.resize(kept);
}

}  // namespace inlier
