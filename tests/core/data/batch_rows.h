// Helpers for tests of data sets: rows of a batch, and the ids of letters.
#ifndef INLIER_TESTS_CORE_DATA_BATCH_ROWS_H_
#define INLIER_TESTS_CORE_DATA_BATCH_ROWS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/special_tokens.h"
#include "torch/types.h"

namespace inlier {

// One row of a (B, T) tensor of int64.
inline std::vector<std::int64_t> Row(const torch::Tensor& tensor, std::int64_t row) {
  const torch::Tensor flat = tensor[row].contiguous();
  return {flat.data_ptr<std::int64_t>(), flat.data_ptr<std::int64_t>() + flat.numel()};
}

// The text of ids, special tokens spelt out.
template <typename Data>
std::string Decoded(const Data& dataset, const torch::Tensor& ids) {
  const torch::Tensor flat = ids.contiguous().view({-1});
  return dataset.tokenizer().Decode(std::vector<std::uint32_t>(flat.data_ptr<std::int64_t>(),
                                                               flat.data_ptr<std::int64_t>() + flat.numel()));
}

// Its id in a vocabulary that is trained here: special tokens, then the bytes, then the merges.
inline std::int64_t ByteId(char byte) {
  return static_cast<std::int64_t>(kOwnSpecialTokens.size()) + static_cast<unsigned char>(byte);
}
inline std::vector<std::int64_t> ByteIds(std::string_view text) {
  std::vector<std::int64_t> ids;
  for (const char byte : text) ids.push_back(ByteId(byte));
  return ids;
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_DATA_BATCH_ROWS_H_
