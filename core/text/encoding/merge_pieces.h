// The merges of byte-pair encoding: of the neighbours that a merge joins, those of the lowest rank are joined, the
// leftmost first, until no pair is listed.
#ifndef INLIER_CORE_TEXT_ENCODING_MERGE_PIECES_H_
#define INLIER_CORE_TEXT_ENCODING_MERGE_PIECES_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace inlier {

class MergeTable {
 public:
  struct Joined {
    uint32_t rank;
    uint32_t id;
  };

  // False where the pair has a merge already. Ranks count from 0.
  bool Add(uint32_t left, uint32_t right, uint32_t joined) {
    return joined_.try_emplace(Key(left, right), Joined{static_cast<uint32_t>(joined_.size()), joined})
        .second;
  }
  // The result of joining the pair, and its rank; null when no merge joins it.
  const Joined* Find(uint32_t left, uint32_t right) const {
    const auto found = joined_.find(Key(left, right));
    return found == joined_.end() ? nullptr : &found->second;
  }

  // Joins the pieces of a word.
  void Apply(std::vector<uint32_t>* pieces) const;

 private:
  static uint64_t Key(uint32_t left, uint32_t right) { return static_cast<uint64_t>(left) << 32 | right; }
  void ApplyToLongWord(std::vector<uint32_t>* pieces) const;

  absl::flat_hash_map<uint64_t, Joined> joined_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_ENCODING_MERGE_PIECES_H_
