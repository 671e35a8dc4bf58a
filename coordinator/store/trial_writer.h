// What a grid is expanded into, many rows a statement: stages, trials and their specifications.
//
// Not part of the store's interface. Runs inside the transaction of Store::Apply; errors are
// SQLite::Exception. Thread safety: none.
#ifndef INLIER_COORDINATOR_STORE_TRIAL_WRITER_H_
#define INLIER_COORDINATOR_STORE_TRIAL_WRITER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "coordinator/store/changes.h"
#include "coordinator/store/row_inserter.h"
#include "proto/spec/spec_parts.h"

namespace inlier {

// A value of TrialState as it is stored: RUNNING is told by a live attempt.
const std::string& StoredState(v1::TrialState state);

class TrialWriter {
 public:
  explicit TrialWriter(SQLite::Database& database);

  // Stores a run of new stages and trials: first all the stages, which the trials name. REQUIRES: `run` has
  // nothing else.
  void Write(std::span<const Change> run);

 private:
  using PartIds = std::array<std::optional<std::int64_t>, kSpecGroups.size()>;
  struct TrialSpecRow {
    const NewTrial* trial;
    std::string rest;    // JSON, without the groups.
    std::string packed;  // The same, serialised.
    PartIds groups;
  };

  TrialSpecRow SpecRowOf(const NewTrial& trial);
  // The spec_part that says `json`; one is made where none is remembered.
  std::int64_t PartId(std::string_view json);
  std::int64_t PartId(std::size_t group, const std::shared_ptr<const std::string>& json);

  static constexpr std::size_t kPartsKept = 4096;
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  struct LastPart {
    std::shared_ptr<const std::string> json;
    std::int64_t id = 0;
  };

  SQLite::Database& database_;
  RowInserter stages_, trials_, specs_, parts_;
  std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>> part_ids_;
  std::array<LastPart, kSpecGroups.size()> last_parts_;  // Of the latest trial.
  // Of the run that is written.
  std::vector<const NewStage*> new_stages_;
  std::vector<TrialSpecRow> new_trials_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_TRIAL_WRITER_H_
