// Examines a whole state folder: is the database sound, do its rows agree with each other and with the files?
//
// Examining only reads, so the coordinator may run meanwhile. Repairing locks the folder (the coordinator
// must be stopped), makes a backup before it writes a row, and removes no result, attempt, measurement,
// checkpoint or file of one. The rules of the rows are one table, StoreRules().
//
// Thread safety: free functions; any thread.
#ifndef INLIER_COORDINATOR_STORE_DOCTOR_H_
#define INLIER_COORDINATOR_STORE_DOCTOR_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace inlier {

// One rule that holds in every committed state of the database.
struct StoreRule {
  const char* name;
  const char* meaning;  // The rule as a sentence, for messages.
  const char* sql;      // Selects a text for each row that breaks it.
  // Makes it hold again without losing anything; nullptr: it cannot be repaired automatically.
  const char* repair_sql = nullptr;
  const char* remedy = "restore a backup from before (inlier backup), or ask for help with this line";
};
const std::vector<StoreRule>& StoreRules();

struct Finding {
  std::string check;
  bool problem = true;  // False: a remark, nothing is wrong.
  std::string what;     // The row or file, and what is wrong with it.
  std::string remedy;
  bool repairable = false;  // By `--repair`.
};

struct DoctorOptions {
  // Compares the digest of every artifact; else of as many as fit into read_bytes_max.
  bool deep = false;
  std::uint64_t read_bytes_max = std::uint64_t{1} << 30;
};

struct DoctorReport {
  std::vector<std::string> checks;  // Names of those that ran.
  std::vector<Finding> findings;
  int schema_version = 0;
  int schema_version_known = 0;  // The newest this program knows.
  std::uint64_t database_bytes = 0;
  std::uint64_t free_bytes = 0;

  bool healthy() const;
};

// Examines a copy of the database where the folder cannot be written. NotFound when the folder has no
// database.
absl::StatusOr<DoctorReport> ExamineStateFolder(const std::filesystem::path& state_dir,
                                                const DoctorOptions& options = {});

// Repairs what `report` calls repairable, and returns what it did, a sentence each. FailedPrecondition while
// a coordinator runs there.
absl::StatusOr<std::vector<std::string>> RepairStateFolder(const std::filesystem::path& state_dir,
                                                           const DoctorReport& report);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_DOCTOR_H_
