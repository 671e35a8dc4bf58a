#include "core/text/encoding/merge_pieces.h"

#include <functional>
#include <queue>
#include <tuple>

namespace inlier {

void MergeTable::Apply(std::vector<uint32_t>* pieces) const {
  constexpr size_t kLongWord = 48;
  if (pieces->size() > kLongWord) return ApplyToLongWord(pieces);
  for (;;) {
    const Joined* best = nullptr;
    size_t best_place = 0;
    for (size_t i = 0; i + 1 < pieces->size(); ++i) {
      const Joined* joined = Find((*pieces)[i], (*pieces)[i + 1]);
      if (joined != nullptr && (best == nullptr || joined->rank < best->rank)) {
        best = joined;
        best_place = i;
      }
    }
    if (best == nullptr) return;
    (*pieces)[best_place] = best->id;
    pieces->erase(pieces->begin() + best_place + 1);
  }
}

// The same result in n log n steps: a list of pieces and a queue of possible merges, lowest rank and leftmost
// first.
void MergeTable::ApplyToLongWord(std::vector<uint32_t>* pieces) const {
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
    const Joined* joined = Find(piece[place], piece[next[place]]);
    if (joined != nullptr) queue.emplace(joined->rank, place, piece[place], piece[next[place]]);
  };
  for (uint32_t i = 0; i < count; ++i) consider(i);
  while (!queue.empty()) {
    const auto [rank, place, left, right] = queue.top();
    queue.pop();
    const uint32_t gone = alive[place] ? next[place] : kNone;
    if (gone == kNone || piece[place] != left || piece[gone] != right) continue;
    piece[place] = Find(left, right)->id;
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
