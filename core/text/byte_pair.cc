#include "core/text/byte_pair.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/data/text_lines.h"
#include "base/files/mapped_file.h"
#include "base/json_text.h"
#include "base/status.h"
#include "core/text/encoding/byte_alphabet.h"
#include "core/text/encoding/merge_pieces.h"
#include "core/text/vocabulary_file.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

constexpr char kMergesHeader[] = "#version: 0.2";

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
    const std::string bytes(1, static_cast<char>(byte));
    if (!add(bytes, PrintableBytes(bytes))) {
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
    vocabulary.merges_.emplace_back(left, right);
    std::string bytes = vocabulary.tokens_[left] + vocabulary.tokens_[right];
    std::string spelling = PrintableBytes(bytes);
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
    const auto found = id_of.find(PrintableByte(byte));
    if (found == id_of.end()) {
      return absl::InvalidArgumentError(absl::StrCat(vocab_json.string(), ": no token for the byte ", byte,
                                                     " (\"", PrintableByte(byte),
                                                     "\"): not the vocabulary of a byte-level BPE"));
    }
    ordinary[found->second] = true;
  }

  ASSIGN_OR_RETURN(const MappedFile file, OpenVocabularyFile(merges_txt, roots));
  MergeTable known;
  for (TextLines lines(file.bytes()); lines.Next();) {
    const absl::string_view line(lines.line().data(), lines.line().size());
    if (line.empty() || (lines.number() == 1 && absl::StartsWith(line, "#version"))) continue;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    const auto left_id = id_of.find(parts.first);
    const auto right_id = id_of.find(parts.second);
    const auto joined_id = id_of.find(absl::StrCat(parts.first, parts.second));
    if (left_id == id_of.end() || right_id == id_of.end() || joined_id == id_of.end()) {
      return absl::InvalidArgumentError(absl::StrCat(merges_txt.string(), ":", lines.number(),
                                                     ": not two tokens of ", vocab_json.string(),
                                                     " whose joined spelling is a token too"));
    }
    if (!known.Add(left_id->second, right_id->second, joined_id->second)) {
      return absl::InvalidArgumentError(
          absl::StrCat(merges_txt.string(), ":", lines.number(), ": the merge of an earlier line again"));
    }
    vocabulary.merges_.emplace_back(left_id->second, right_id->second);
    ordinary[joined_id->second] = true;
  }

  for (uint32_t id = 0; id < spellings.size(); ++id) {
    const std::optional<std::string> bytes = ordinary[id] ? BytesOfPrintable(spellings[id]) : std::nullopt;
    if (!bytes.has_value()) vocabulary.special_ids_.push_back(id);
    vocabulary.tokens_.push_back(bytes.value_or(spellings[id]));
  }
  return vocabulary;
}

std::string BytePairVocabulary::VocabJson() const {
  std::string json = "{";
  for (uint32_t id = 0; id < size(); ++id) {
    const std::string spelling = IsSpecial(id) ? tokens_[id] : PrintableBytes(tokens_[id]);
    absl::StrAppend(&json, id == 0 ? "" : ", ", nlohmann::json(spelling).dump(), ": ", id);
  }
  return json + "}";
}

std::string BytePairVocabulary::MergesTxt() const {
  std::string text = absl::StrCat(kMergesHeader, "\n");
  for (const auto& [left, right] : merges_) {
    absl::StrAppend(&text, PrintableBytes(tokens_[left]), " ", PrintableBytes(tokens_[right]), "\n");
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

}  // namespace inlier
