// Records by ids that were given out one after the other: a lookup is one hash of few, and a record costs
// nothing but itself. Gaps are allowed, and cost a chunk each at most. Records never move and are never
// removed.
//
// Thread safety: none.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_DENSE_TABLE_H_
#define INLIER_COORDINATOR_ORCHESTRATION_DENSE_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/check.h"

namespace inlier {

// `Record` has a member `id`, of type `Id`, a StrongId; it is zero in a record that is not there.
template <typename Id, typename Record>
class DenseTable {
 public:
  // The record of `id`, made when it is not there. REQUIRES: `id` is above 0.
  Record& operator[](Id id) {
    INLIER_CHECK(id.value() > 0);
    std::unique_ptr<Chunk>& chunk = chunks_[ChunkOf(id)];
    if (chunk == nullptr) chunk = std::make_unique<Chunk>();
    Record& record = (*chunk)[PlaceOf(id)];
    if (!record.id) {
      record.id = id;
      ++size_;
    }
    return record;
  }

  const Record* Find(Id id) const {
    const auto chunk = chunks_.find(ChunkOf(id));
    if (chunk == chunks_.end()) return nullptr;
    const Record& record = (*chunk->second)[PlaceOf(id)];
    return record.id ? &record : nullptr;
  }
  bool contains(Id id) const { return Find(id) != nullptr; }

  // REQUIRES: it is there.
  const Record& at(Id id) const {
    const Record* record = Find(id);
    INLIER_CHECK(record != nullptr);
    return *record;
  }
  Record& at(Id id) { return const_cast<Record&>(std::as_const(*this).at(id)); }

  std::size_t size() const { return size_; }

  // Calls `visit` with every record, in no order that may show.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [number, chunk] : chunks_) {
      for (const Record& record : *chunk) {
        if (record.id) visit(record);
      }
    }
  }

 private:
  static constexpr std::int64_t kChunk = 64;
  using Chunk = std::array<Record, kChunk>;

  static std::int64_t ChunkOf(Id id) { return id.value() / kChunk; }
  static std::size_t PlaceOf(Id id) {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(id.value()) % kChunk);
  }

  std::unordered_map<std::int64_t, std::unique_ptr<Chunk>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_DENSE_TABLE_H_
