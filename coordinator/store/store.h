// The stored state, read once after a start and changed by the batches of the orchestrator.
//
// Thread safety: none; the committer's thread owns it while a Committer is alive.
#ifndef INLIER_COORDINATOR_STORE_STORE_H_
#define INLIER_COORDINATOR_STORE_STORE_H_

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/database.h"
#include "coordinator/store/snapshot.h"

namespace inlier {

struct ApplyStats {
  std::uint64_t rows = 0;    // Changes applied.
  std::uint64_t fenced = 0;  // Changes dropped because their token's attempt is not live.
};

class Store {
 public:
  // `database` outlives the store.
  explicit Store(Database& database);
  ~Store();

  absl::StatusOr<Snapshot> Load();

  // Applies all batches in one transaction, in order, or nothing; OK: it is durable. ResourceExhausted: no
  // space, a retry may succeed; Internal names a constraint; DataLoss: the process must end.
  absl::StatusOr<ApplyStats> Apply(std::span<const ChangeBatch* const> batches);
  absl::StatusOr<ApplyStats> Apply(const ChangeBatch& batch);

  // Rows of a kind that one transaction deletes of an emptied stage: it must not hold up the others.
  static constexpr int kRowsThinned = 5'000;
  // True while stages that are EMPTY have rows left, of those that Load found or Apply emptied.
  bool HasLeftovers() const { return !leftovers_.empty(); }
  // Deletes a part of them, in a transaction of its own. Errors as of Apply.
  absl::Status Thin();

  Database& database() { return database_; }

 private:
  class Writer;  // Holds the prepared statements.
  Database& database_;
  std::unique_ptr<Writer> writer_;
  std::set<StageId> leftovers_;
  std::set<std::string> programs_;  // Descriptions of which the views have the columns, serialised.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_STORE_H_
