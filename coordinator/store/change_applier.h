// One change, one or two prepared statements. Runs inside the transaction of Store::Apply; errors are
// SQLite::Exception.
//
// What comes from a worker is written by statements that look for the live attempt of the token themselves.
//
// Thread safety: none.
#ifndef INLIER_COORDINATOR_STORE_CHANGE_APPLIER_H_
#define INLIER_COORDINATOR_STORE_CHANGE_APPLIER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/check.h"
#include "coordinator/store/changes.h"
#include "proto/spec/spec_parts.h"

namespace SQLite {
class Database;
}

namespace inlier {

class ChangeApplier {
 public:
  explicit ChangeApplier(SQLite::Database& database);
  ~ChangeApplier();

  // False: dropped, because its token's attempt is not live. REQUIRES: no measurement.
  bool Apply(const Change& change);

  // Before COMMIT: stores what depends on the whole transaction.
  void Finish();

 private:
  struct Statements;

  bool Apply(const NewSweep& change);
  bool Apply(const SweepChange& change);
  bool Apply(const SweepEdited& change);
  bool Apply(const NewStage& change);
  bool Apply(const NewTrial& change);
  bool Apply(const TrialMoved& change);
  bool Apply(const TrialChange& change);
  bool Apply(const StageChange& change);
  bool Apply(const AttemptStarted& change);
  bool Apply(const AttemptYields& change);
  bool Apply(const AttemptInfo& change);
  bool Apply(const AttemptEnded& change);
  // Those are the MeasurementWriter's.
  bool Apply(const MeasurementRow&) { INLIER_CHECK(false); }
  bool Apply(const LogRow& change);
  bool Apply(const CheckpointRow& change);
  bool Apply(const EventRow& change);
  bool Apply(const WorkerRow& change);
  bool Apply(const WorkerAcknowledged& change);
  bool Apply(const PruningDecision& change);
  bool Apply(const TrialPruning& change);
  bool Apply(const RequestRow& change);
  bool Apply(const AttemptRequest& change);
  bool Apply(const AttemptPeak& change);
  bool Apply(const StageMemory& change);
  bool Apply(const WorkerCapacity& change);

  // The spec_part that says `json`; one is made where none is remembered.
  std::int64_t PartId(std::string_view json);
  std::int64_t PartId(std::size_t group, const std::shared_ptr<const std::string>& json);

  static constexpr std::size_t kPartsKept = 4096;
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::unique_ptr<Statements> sql_;
  std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>> parts_;
  struct LastPart {
    std::shared_ptr<const std::string> json;
    std::int64_t id = 0;
  };
  std::array<LastPart, kSpecGroups.size()> last_parts_;  // Of the latest trial.
  Token next_token_ = 0;                                 // Of this transaction; 0: no attempt was started.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_CHANGE_APPLIER_H_
