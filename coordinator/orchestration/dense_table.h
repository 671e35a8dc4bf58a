// Records by ids that were given out one after the other: a lookup is one hash of few, and a record costs
// nothing but itself. Gaps are allowed, and cost two kilobytes each at most. Records never move and are never
// removed; those that are cold can leave memory (cold_memory.h), 256 neighbours at a time.
//
// Thread safety: none.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_DENSE_TABLE_H_
#define INLIER_COORDINATOR_ORCHESTRATION_DENSE_TABLE_H_

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "coordinator/orchestration/cold_memory.h"

namespace inlier {

// `Record` has a member `id`, of type `Id`, a StrongId.
template <typename Id, typename Record>
class DenseTable {
 public:
  // `memory` outlives the table.
  explicit DenseTable(ColdMemory& memory) : memory_(memory) {}
  DenseTable(const DenseTable&) = delete;
  DenseTable& operator=(const DenseTable&) = delete;
  ~DenseTable() {
    for (const auto& [number, segment] : segments_) {
      for (std::size_t place = 0; place < kSegment; ++place) {
        if (segment->made[place]) segment->records[place].~Record();
      }
    }
  }

  // The record of `id`, made when it is not there. REQUIRES: `id` is above 0.
  Record& operator[](Id id) {
    INLIER_CHECK(id.value() > 0);
    std::unique_ptr<Segment>& segment = segments_[SegmentOf(id)];
    if (segment == nullptr) {
      segment = std::make_unique<Segment>();
      segment->records = reinterpret_cast<Record*>(memory_.Reserve(kSegment * sizeof(Record)));
      AddNumber(SegmentOf(id));
    }
    const std::size_t place = PlaceOf(id);
    if (!segment->made[place]) {
      new (&segment->records[place]) Record();
      segment->records[place].id = id;
      segment->made[place] = true;
      ++size_;
      last_ = std::max(last_, id.value());
    }
    return Warm(*segment, place);
  }

  const Record* Find(Id id) const {
    const auto segment = segments_.find(SegmentOf(id));
    if (segment == segments_.end() || !segment->second->made[PlaceOf(id)]) return nullptr;
    return &segment->second->records[PlaceOf(id)];
  }
  bool contains(Id id) const { return Find(id) != nullptr; }

  // REQUIRES: it is there.
  const Record& at(Id id) const {
    const Record* record = Find(id);
    INLIER_CHECK(record != nullptr);
    return *record;
  }
  Record& at(Id id) {
    const auto segment = segments_.find(SegmentOf(id));
    INLIER_CHECK(segment != segments_.end() && segment->second->made[PlaceOf(id)]);
    return Warm(*segment->second, PlaceOf(id));
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Calls `visit` with every record, in the order of their ids.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const std::int64_t number : numbers_) {
      const Segment& segment = *segments_.at(number);
      for (std::size_t place = 0; place < kSegment; ++place) {
        if (segment.made[place]) visit(std::as_const(segment.records[place]));
      }
    }
  }
  // Those before `end` (zero: all) the other way round, until `visit` returns false.
  template <typename Visit>
  void ForEachBackwards(Id end, Visit visit) const {
    for (auto number = numbers_.rbegin(); number != numbers_.rend(); ++number) {
      if (end && *number > SegmentOf(end)) continue;
      const Segment& segment = *segments_.at(*number);
      for (std::size_t place = end && *number == SegmentOf(end) ? PlaceOf(end) : kSegment; place-- > 0;) {
        if (segment.made[place] && !visit(std::as_const(segment.records[place]))) return;
      }
    }
  }

  // Cooling. Writes up to `parts_max` parts of which every record `is_cold`, and that end before the latest
  // record; looks at a bounded number of parts, going round. Returns how many were written.
  template <typename IsCold>
  std::size_t WriteCold(std::size_t parts_max, IsCold is_cold) {
    std::size_t written = 0;
    std::size_t looked = 0;
    const std::size_t all = numbers_.size() * kParts;
    for (std::size_t steps = std::min(all, kStepsAtOnce);
         steps > 0 && looked < kLooksAtOnce && written < parts_max; --steps) {
      looked_ = looked_ + 1 < all ? looked_ + 1 : 0;
      Segment& segment = *segments_.at(numbers_[looked_ / kParts]);
      const std::size_t part = looked_ % kParts;
      if (segment.parts[part] != PartState::kWarm) continue;
      ++looked;
      if (!AllCold(segment, part, is_cold)) continue;
      const std::int64_t end = numbers_[looked_ / kParts] * static_cast<std::int64_t>(kSegment) +
                               static_cast<std::int64_t>((part + 1) * kPart);
      if (end > last_ || !memory_.Write(BytesOf(segment, part), kPartBytes)) continue;
      segment.parts[part] = PartState::kWritten;
      written_.emplace_back(&segment, part);
      ++written;
    }
    return written;
  }
  // Gives up the memory of those that were written and not touched since. REQUIRES: the memory's Sync after
  // the last WriteCold was OK.
  void MapCold() {
    for (const auto& [segment, part] : written_) {
      if (segment->parts[part] != PartState::kWritten) continue;
      const bool mapped = memory_.Map(BytesOf(*segment, part), kPartBytes);
      segment->parts[part] = mapped ? PartState::kCold : PartState::kWarm;
    }
    written_.clear();
  }

 private:
  static constexpr std::size_t kSegment = 16384;
  static constexpr std::size_t kPart = 256;  // Whole pages of 4 KiB for a record of a multiple of 16 bytes.
  static constexpr std::size_t kParts = kSegment / kPart;
  static constexpr std::size_t kPartBytes = kPart * sizeof(Record);
  static constexpr std::size_t kLooksAtOnce = 256;   // Warm parts, each a few microseconds at most.
  static constexpr std::size_t kStepsAtOnce = 8192;  // All.

  enum class PartState : std::uint8_t {
    kWarm,     // May have changed since it was written, if ever it was.
    kWritten,  // As it is in the file, and in memory.
    kCold,     // In the file.
  };
  struct Segment {
    Record* records = nullptr;
    std::bitset<kSegment> made;
    std::array<PartState, kParts> parts{};
  };

  static std::int64_t SegmentOf(Id id) { return id.value() / static_cast<std::int64_t>(kSegment); }
  static std::size_t PlaceOf(Id id) {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(id.value()) % kSegment);
  }
  static char* BytesOf(Segment& segment, std::size_t part) {
    return reinterpret_cast<char*>(segment.records + part * kPart);
  }

  // It may be changed from now on.
  static Record& Warm(Segment& segment, std::size_t place) {
    PartState& part = segment.parts[place / kPart];
    if (part != PartState::kWarm) part = PartState::kWarm;
    return segment.records[place];
  }

  template <typename Cold>
  static bool AllCold(const Segment& segment, std::size_t part, Cold& is_cold) {
    bool any = false;
    for (std::size_t place = part * kPart; place < (part + 1) * kPart; ++place) {
      if (!segment.made[place]) continue;
      if (!is_cold(std::as_const(segment.records[place]))) return false;
      any = true;
    }
    return any;
  }

  void AddNumber(std::int64_t number) {
    numbers_.insert(std::upper_bound(numbers_.begin(), numbers_.end(), number), number);
  }

  ColdMemory& memory_;
  std::unordered_map<std::int64_t, std::unique_ptr<Segment>> segments_;
  std::vector<std::int64_t> numbers_;  // Of the segments, in order.
  std::size_t size_ = 0;
  std::int64_t last_ = 0;   // The greatest id.
  std::size_t looked_ = 0;  // The part that was looked at last.
  std::vector<std::pair<Segment*, std::size_t>> written_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_DENSE_TABLE_H_
