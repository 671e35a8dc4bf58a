// Fingerprint -> stage, in about five bytes a stage: the fingerprints themselves are in the stages. It grows
// a 256th at a time, so that no call waits for all of it.
//
// Thread safety: none.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_FINGERPRINT_INDEX_H_
#define INLIER_COORDINATOR_ORCHESTRATION_FINGERPRINT_INDEX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "coordinator/orchestration/dense_table.h"
#include "coordinator/orchestration/short_id.h"
#include "coordinator/orchestration/stage.h"
#include "coordinator/store/ids.h"

namespace inlier {

class FingerprintIndex {
 public:
  using Stages = DenseTable<StageId, Stage>;

  // The stage with this fingerprint; zero: there is none.
  StageId Find(const Digest& fingerprint, const Stages& stages) const {
    const std::vector<ShortId<StageId>>& part = parts_[fingerprint[0]].places;
    if (part.empty()) return StageId();
    for (std::size_t at = PlaceOf(fingerprint, part.size());; at = at + 1 == part.size() ? 0 : at + 1) {
      if (!part[at] || stages.at(part[at]).fingerprint == fingerprint) return part[at];
    }
  }

  // Adds a stage that is in the table, and returns zero; or the other that has its fingerprint.
  StageId Add(const Stage& stage, const Stages& stages) {
    Part& part = parts_[stage.fingerprint[0]];
    if (part.used + 1 > part.places.size() * 3 / 4) Grow(part, stages);
    std::size_t at = PlaceOf(stage.fingerprint, part.places.size());
    for (; part.places[at]; at = at + 1 == part.places.size() ? 0 : at + 1) {
      if (stages.at(part.places[at]).fingerprint == stage.fingerprint) return part.places[at];
    }
    part.places[at] = stage.id;
    ++part.used;
    ++size_;
    return StageId();
  }

  // Makes room for so many in all.
  void Reserve(std::size_t count, const Stages& stages) {
    for (Part& part : parts_) {
      // What falls into a part varies by a few times its square root.
      const std::size_t here = count / parts_.size() + count / (parts_.size() * 8);
      if (part.places.size() * 3 / 4 < here) Resize(part, here * 4 / 3 + 1, stages);
    }
  }

  std::size_t size() const { return size_; }

 private:
  struct Part {
    std::vector<ShortId<StageId>> places;  // Zero: free. At most three quarters are taken.
    std::size_t used = 0;
  };

  static std::size_t PlaceOf(const Digest& fingerprint, std::size_t size) {
    std::uint32_t hash;  // All its bits are alike.
    std::memcpy(&hash, fingerprint.data() + 1, sizeof(hash));
    return static_cast<std::size_t>((static_cast<std::uint64_t>(hash) * size) >> 32);
  }
  static void Put(std::vector<ShortId<StageId>>& places, const Digest& fingerprint, StageId stage) {
    std::size_t at = PlaceOf(fingerprint, places.size());
    while (places[at]) at = at + 1 == places.size() ? 0 : at + 1;
    places[at] = stage;
  }
  static void Grow(Part& part, const Stages& stages) {
    Resize(part, part.places.size() + part.places.size() / 3 + 8, stages);
  }
  static void Resize(Part& part, std::size_t size, const Stages& stages) {
    std::vector<ShortId<StageId>> places(size);
    for (const StageId stage : part.places) {
      if (stage) Put(places, stages.at(stage).fingerprint, stage);
    }
    part.places = std::move(places);
  }

  std::array<Part, 256> parts_;
  std::size_t size_ = 0;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_FINGERPRINT_INDEX_H_
