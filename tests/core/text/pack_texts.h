// The reference's group_texts over ready ids (special tokens included), with all of them in memory: PackedTexts must give the same.
#ifndef INLIER_TESTS_CORE_TEXT_PACK_TEXTS_H_
#define INLIER_TESTS_CORE_TEXT_PACK_TEXTS_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/text/packing.h"

namespace inlier {

inline std::vector<std::vector<int64_t>> PackTexts(std::span<const std::vector<int64_t>> texts,
                                                   int64_t sequence_length, ShortGroup short_group,
                                                   int64_t texts_per_group = kTextsPerGroup) {
  std::vector<std::vector<int64_t>> sequences;
  for (size_t begin = 0; begin < texts.size(); begin += texts_per_group) {
    std::vector<int64_t> group;
    for (const auto& text : texts.subspan(begin, std::min<size_t>(texts_per_group, texts.size() - begin)))
      group.insert(group.end(), text.begin(), text.end());
    const auto length = static_cast<size_t>(sequence_length);
    if (group.size() < length) {
      if (short_group == ShortGroup::kKeep && !group.empty()) sequences.push_back(group);
      continue;
    }
    for (size_t i = 0; i + length <= group.size(); i += length)
      sequences.emplace_back(group.begin() + static_cast<std::ptrdiff_t>(i),
                             group.begin() + static_cast<std::ptrdiff_t>(i + length));
  }
  return sequences;
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_TEXT_PACK_TEXTS_H_
