#include "core/text/encoding/byte_pair_model.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/text/encoding/unicode_text.h"

namespace inlier {

absl::StatusOr<BytePairModel> BytePairModel::Make(VocabularyIds ids, const BytePairSettings& settings) {
  BytePairModel model;
  model.ids_ = std::move(ids);
  model.prefix_ = settings.prefix;
  model.suffix_ = settings.suffix;
  model.fuse_unknown_ = settings.fuse_unknown;
  model.byte_fallback_ = settings.byte_fallback;
  model.ignore_merges_ = settings.ignore_merges;
  for (size_t i = 0; i < settings.merges.size(); ++i) {
    const auto& [left, right] = settings.merges[i];
    // The prefix of the second part is not in the whole.
    const std::string_view inside =
        std::string_view(right).substr(std::min(settings.prefix.size(), right.size()));
    const auto left_id = model.Find(left), right_id = model.Find(right);
    const auto joined_id = model.Find(left + std::string(inside));
    if (!left_id || !right_id || !joined_id) {
      return absl::InvalidArgumentError(absl::StrCat(
          "merges[", i, "]: not two tokens of the vocabulary whose joined spelling is a token too"));
    }
    if (!model.table_.Add(*left_id, *right_id, *joined_id))
      return absl::InvalidArgumentError(absl::StrCat("merges[", i, "]: an earlier merge again"));
  }
  if (settings.unknown.has_value()) {
    model.unknown_ = model.Find(*settings.unknown);
    if (!model.unknown_.has_value())
      return absl::InvalidArgumentError("unk_token: is not a token of the vocabulary");
  }
  return model;
}

bool BytePairModel::AppendBytes(std::string_view character, std::vector<uint32_t>* pieces) const {
  const size_t before = pieces->size();
  for (const char byte : character) {
    const auto id = Find(absl::StrFormat("<0x%02X>", static_cast<uint8_t>(byte)));
    if (!id.has_value()) {
      pieces->resize(before);
      return false;
    }
    pieces->push_back(*id);
  }
  return true;
}

void BytePairModel::EncodeWord(std::string_view word, std::vector<uint32_t>* ids) const {
  if (ignore_merges_) {
    if (const auto whole = Find(word); whole.has_value()) return ids->push_back(*whole);
  }
  std::vector<uint32_t> pieces;
  bool unknown = false;  // An unknown piece waits for others that it may be fused with.
  std::string piece;
  for (size_t i = 0; i < word.size();) {
    const size_t begin = i;
    NextCharacter(word, &i);
    piece.clear();
    if (begin > 0) piece += prefix_;
    piece += word.substr(begin, i - begin);
    if (i == word.size()) piece += suffix_;
    if (const auto id = Find(piece); id.has_value()) {
      if (unknown) pieces.push_back(*unknown_);
      unknown = false;
      pieces.push_back(*id);
    } else if (byte_fallback_ && AppendBytes(piece, &pieces)) {
      // `tokenizers` leaves an unknown piece before these waiting, too.
    } else if (unknown_.has_value()) {
      if (unknown && !fuse_unknown_) pieces.push_back(*unknown_);
      unknown = true;
    }
  }
  if (unknown) pieces.push_back(*unknown_);
  table_.Apply(&pieces);
  ids->insert(ids->end(), pieces.begin(), pieces.end());
}

}  // namespace inlier
