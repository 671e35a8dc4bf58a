// The fleet's tables in inlier.db, and the fleet that a start makes of them.
#ifndef INLIER_FLEET_STORE_H_
#define INLIER_FLEET_STORE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/store/changes.h"
#include "coordinator/store/reader.h"
#include "fleet/state.h"

namespace inlier {

struct StoredFleet {
  std::string home{};  // The state folder.
  std::optional<FleetRow> row{};
  bool copied = false;  // The row's home still has this database, too: its jobs are of that one.
  std::vector<FleetSubmissionRow> submissions{};  // The submissions that have not ended.
  std::uint64_t next_submission = 1;
};

// `database_id`: of the folder's database, which `reader` reads.
absl::StatusOr<StoredFleet> LoadFleet(Reader& reader, const std::filesystem::path& state_dir,
                                      const std::string& database_id);

// The rows as the store writes them.
ChangeBatch BatchOf(const std::vector<FleetChange>& changes);

struct FleetOptions {
  std::optional<v1::FleetConfig> config{};  // The configuration's.
  // The random id of a fleet that is new or of a copied database. Empty: a stored fleet is only shown.
  std::string new_id{};
};

// Fills context.fleet from the store, and with the configuration's fleet, if it has one.
absl::Status RecoverFleet(FleetContext& context, const FleetOptions& options, StoredFleet stored);

// Sets Fleet::config from its row. DataLoss: the row's cannot be read.
absl::Status ApplyFleetRow(Fleet& fleet);

}  // namespace inlier

#endif  // INLIER_FLEET_STORE_H_
