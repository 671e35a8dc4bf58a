// Fingerprint -> stage, in about twelve bytes a stage: the fingerprints themselves are in the stages. It
// grows a 256th at a time, so that no call waits for all of it.
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
    const std::vector<Place>& part = parts_[fingerprint[0]].places;
    if (part.empty()) return StageId();
    return part[Search(part, fingerprint, stages)].stage;
  }

  // Adds a stage that is in the table, and returns zero; or the other that has its fingerprint.
  StageId Add(const Stage& stage, const Stages& stages) {
    Part& part = parts_[stage.fingerprint[0]];
    if (part.used + 1 > part.places.size() * 3 / 4) Resize(part, part.places.size() * 4 / 3 + 8);
    Place& place = part.places[Search(part.places, stage.fingerprint, stages)];
    if (place.stage) return place.stage;
    place = {HashOf(stage.fingerprint), stage.id};
    ++part.used;
    ++size_;
    return StageId();
  }

  // Makes room for so many in all.
  void Reserve(std::size_t count) {
    for (Part& part : parts_) {
      // What falls into a part varies by a few times its square root.
      const std::size_t here = count / parts_.size() + count / (parts_.size() * 8);
      if (part.places.size() * 3 / 4 < here) Resize(part, here * 4 / 3 + 1);
    }
  }

  std::size_t size() const { return size_; }

 private:
  struct Place {
    std::uint32_t hash = 0;  // Of the fingerprint, so that another's stage, which may be cold, is not read.
    ShortId<StageId> stage;  // Zero: free.
  };
  struct Part {
    std::vector<Place> places;  // At most three quarters are taken.
    std::size_t used = 0;
  };

  static std::uint32_t HashOf(const Digest& fingerprint) {
    std::uint32_t hash;  // All its bits are alike.
    std::memcpy(&hash, fingerprint.data() + 1, sizeof(hash));
    return hash;
  }
  static std::size_t FirstPlace(std::uint32_t hash, std::size_t size) {
    return static_cast<std::size_t>((static_cast<std::uint64_t>(hash) * size) >> 32);
  }
  static std::size_t Next(std::size_t at, std::size_t size) { return at + 1 == size ? 0 : at + 1; }
  // Where it is, or would be.
  static std::size_t Search(const std::vector<Place>& places, const Digest& fingerprint,
                            const Stages& stages) {
    const std::uint32_t hash = HashOf(fingerprint);
    std::size_t at = FirstPlace(hash, places.size());
    while (places[at].stage &&
           (places[at].hash != hash || stages.at(places[at].stage).fingerprint != fingerprint))
      at = Next(at, places.size());
    return at;
  }
  static void Resize(Part& part, std::size_t size) {
    std::vector<Place> places(size);
    for (const Place& place : part.places) {
      if (!place.stage) continue;
      std::size_t at = FirstPlace(place.hash, size);
      while (places[at].stage) at = Next(at, size);
      places[at] = place;
    }
    part.places = std::move(places);
  }

  std::array<Part, 256> parts_;
  std::size_t size_ = 0;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_FINGERPRINT_INDEX_H_
