// A cache of the ids of words: text repeats its words, and a lookup is faster than encoding a word again.
//
// Bounded: long words, and words that come late, are encoded each time.
#ifndef INLIER_CORE_TEXT_ENCODING_WORD_MEMORY_H_
#define INLIER_CORE_TEXT_ENCODING_WORD_MEMORY_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace inlier {

class WordMemory {
 public:
  // Appends the ids of `word`; false, appending nothing, when it is not in the cache.
  bool Recall(std::string_view word, std::vector<uint32_t>* ids) const {
    const auto found = places_.find(absl::string_view(word.data(), word.size()));
    if (found == places_.end()) return false;
    const auto [begin, length] = found->second;
    ids->insert(ids->end(), ids_.begin() + begin, ids_.begin() + begin + length);
    return true;
  }

  void Remember(std::string_view word, std::span<const uint32_t> ids) {
    if (word.size() > kMaxBytes || places_.size() >= kMaxWords) return;
    places_[std::string(word)] = {static_cast<uint32_t>(ids_.size()), static_cast<uint32_t>(ids.size())};
    ids_.insert(ids_.end(), ids.begin(), ids.end());
  }

 private:
  static constexpr size_t kMaxWords = 1 << 18;
  static constexpr size_t kMaxBytes = 64;

  absl::flat_hash_map<std::string, std::pair<uint32_t, uint32_t>> places_;  // Begin and length in ids_.
  std::vector<uint32_t> ids_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_ENCODING_WORD_MEMORY_H_
