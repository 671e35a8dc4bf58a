// The sweeps by their ids: what is worked on as it is, what has ended packed into a few hundred bytes of cold
// memory (cold_memory.h).
//
// A coordinator has the sweeps of years, most of them over. A packed one comes back as it was, but for what
// a restart forgets too: all but its latest notices, and how long its attempts took. The bytes of one that
// was packed before stay in the scratch file.
//
// Thread safety: none.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_SWEEP_TABLE_H_
#define INLIER_COORDINATOR_ORCHESTRATION_SWEEP_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "coordinator/orchestration/cold_arena.h"
#include "coordinator/orchestration/cold_memory.h"
#include "coordinator/orchestration/dense_table.h"
#include "coordinator/orchestration/model.h"
#include "coordinator/store/ids.h"

namespace inlier {

// A sweep to look at: the one of the table, or what was packed, taken apart for as long as the view lives.
// Valid until its table is changed.
class SweepView {
 public:
  explicit SweepView(const Sweep& whole) : sweep_(&whole) {}
  explicit SweepView(std::unique_ptr<const Sweep> unpacked)
      : unpacked_(std::move(unpacked)), sweep_(unpacked_.get()) {}

  const Sweep& operator*() const { return *sweep_; }
  const Sweep* operator->() const { return sweep_; }

 private:
  std::unique_ptr<const Sweep> unpacked_;
  const Sweep* sweep_;
};

class SweepTable {
 public:
  struct Hooks {
    std::function<void(const Sweep&)> packs;     // It is whole for the last time.
    std::function<void(const Sweep&)> unpacked;  // It is whole again.
  };
  // `memory` outlives the table.
  SweepTable(Hooks hooks, ColdMemory& memory) : entries_(memory), packed_(memory), hooks_(std::move(hooks)) {}

  // REQUIRES: no sweep has its id; its name stays what it is.
  Sweep& Add(Sweep sweep);

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  bool contains(SweepId id) const { return entries_.contains(id); }

  // To work on; it is packed no longer. Stays where it is until Pack. REQUIRES: it is there.
  Sweep& at(SweepId id);
  // To look at. REQUIRES: it is there.
  SweepView View(SweepId id) const;

  // Oldest first.
  void ForEach(absl::FunctionRef<void(const Sweep&)> visit) const;
  // The newest with this name; the names of others, which may be cold, are not read.
  std::optional<SweepId> FindNewest(std::string_view name) const;
  // Of at most so many of the newest, as they were given.
  std::vector<std::string> NewestNames(std::size_t max) const;
  // At most so many of those before `end` (zero: all), the newest first.
  std::vector<SweepId> IdsBackwards(SweepId end, std::size_t max) const;
  // Those that are not packed: all that have not ended are among them.
  const std::set<SweepId>& whole() const { return whole_; }

  // The sweep has ended, as far as its state says: Pack looks at it from now on.
  void NoteEnd(SweepId id) { ended_.insert(id); }
  // Packs those that have ended and of which `over` says that nothing runs for them; ends references to them.
  // A sweep with pruning, or one of many trials, which cost more than it does, stays as it is.
  void Pack(absl::FunctionRef<bool(const Sweep&)> over);

  // As a DenseTable's.
  std::size_t WriteCold(std::size_t parts_max);
  void MapCold();

 private:
  struct Entry {
    SweepId id;
    std::unique_ptr<Sweep> whole;  // Null: packed.
    const char* packed = nullptr;  // Its name, then a PackedSweep.
    std::uint32_t name_bytes = 0;
    std::uint32_t bytes = 0;
  };
  static std::string_view NameOf(const Entry& entry);
  void PackInto(Entry& entry);
  static std::unique_ptr<Sweep> Whole(const Entry& entry);

  DenseTable<SweepId, Entry> entries_;
  ColdArena packed_;
  std::vector<std::uint32_t> name_hashes_;  // By the id; of a gap any.
  std::set<SweepId> whole_;
  std::set<SweepId> ended_;  // Whole ones that NoteEnd told of, or that were packed before.
  const Hooks hooks_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_SWEEP_TABLE_H_
