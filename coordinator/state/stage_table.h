// The stages, by id and by fingerprint.
#ifndef INLIER_COORDINATOR_STATE_STAGE_TABLE_H_
#define INLIER_COORDINATOR_STATE_STAGE_TABLE_H_

#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/digest.h"
#include "coordinator/state/id_table.h"
#include "coordinator/state/stage.h"
#include "coordinator/store/ids.h"

namespace inlier {

class StageTable : private IdTable<StageId, Stage> {
 public:
  using IdTable::at, IdTable::begin, IdTable::end, IdTable::Find, IdTable::NextId, IdTable::size;

  // Adds `stage`. Returns it, and true; or the stage that has its fingerprint already, and false.
  // REQUIRES: its id is NextId().
  std::pair<Stage*, bool> Add(Stage stage) {
    if (const auto same = by_fingerprint_.find(stage.fingerprint); same != by_fingerprint_.end())
      return {*same, false};
    Stage& added = IdTable::Add(std::move(stage));
    by_fingerprint_.insert(&added);
    return {&added, true};
  }

  // The stage that is bound to the data which an attempt at `stage` reads: itself, or its training.
  Stage& BoundFor(Stage& stage) { return stage.data ? stage : at(stage.train); }
  const Stage& BoundFor(const Stage& stage) const { return stage.data ? stage : at(stage.train); }

  // nullptr: there is none.
  Stage* Find(const Digest& fingerprint) const {
    const auto at = by_fingerprint_.find(fingerprint);
    return at == by_fingerprint_.end() ? nullptr : *at;
  }
  void Reserve(std::size_t stages) { by_fingerprint_.reserve(stages); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Digest& digest) const { return absl::HashOf(digest); }
    std::size_t operator()(const Stage* stage) const { return absl::HashOf(stage->fingerprint); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Stage* a, const Digest& b) const { return a->fingerprint == b; }
    bool operator()(const Stage* a, const Stage* b) const { return a->fingerprint == b->fingerprint; }
  };

  absl::flat_hash_set<Stage*, Hash, Equal> by_fingerprint_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STATE_STAGE_TABLE_H_
