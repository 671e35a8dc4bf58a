// The stages, by id and by fingerprint.
//
// Stages stay where they are in memory and are never removed. Nothing walks the table in the order of its
// hashes: ids are consecutive, and a visit of all stages counts from 1.
//
// Thread safety: none.
#ifndef INLIER_COORDINATOR_STATE_STAGE_TABLE_H_
#define INLIER_COORDINATOR_STATE_STAGE_TABLE_H_

#include <cstddef>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "base/digest.h"
#include "coordinator/state/stage.h"
#include "coordinator/store/ids.h"

namespace inlier {

class StageTable {
 public:
  // Adds `stage`. Returns it, and true; or the stage that has its fingerprint already, and false.
  // REQUIRES: no stage has its id.
  std::pair<Stage*, bool> Add(Stage stage) {
    if (const auto same = by_fingerprint_.find(stage.fingerprint); same != by_fingerprint_.end())
      return {*same, false};
    const StageId id = stage.id;
    Stage& added = stages_.emplace(id, std::move(stage)).first->second;
    by_fingerprint_.insert(&added);
    return {&added, true};
  }

  // nullptr: there is none.
  Stage* Find(const Digest& fingerprint) const {
    const auto at = by_fingerprint_.find(fingerprint);
    return at == by_fingerprint_.end() ? nullptr : *at;
  }
  const Stage* Find(StageId id) const {
    const auto at = stages_.find(id);
    return at == stages_.end() ? nullptr : &at->second;
  }

  // REQUIRES: it exists.
  Stage& at(StageId id) { return stages_.at(id); }
  const Stage& at(StageId id) const { return stages_.at(id); }
  std::size_t size() const { return stages_.size(); }
  void Reserve(std::size_t stages) {
    stages_.reserve(stages);
    by_fingerprint_.reserve(stages);
  }

 private:
  static const Digest& KeyOf(const Digest& digest) { return digest; }
  static const Digest& KeyOf(const Stage* stage) { return stage->fingerprint; }
  struct Hash {
    using is_transparent = void;
    template <typename Key>
    std::size_t operator()(const Key& key) const {
      return absl::Hash<Digest>()(KeyOf(key));
    }
  };
  struct Equal {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return KeyOf(a) == KeyOf(b);
    }
  };

  absl::node_hash_map<StageId, Stage> stages_;
  absl::flat_hash_set<Stage*, Hash, Equal> by_fingerprint_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_STAGE_TABLE_H_
