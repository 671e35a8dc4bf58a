#include "fleet/store.h"

#include <google/protobuf/util/json_util.h>

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/deliberate_bug.h"
#include "base/log.h"
#include "base/status.h"
#include "coordinator/store/folder/binding.h"
#include "fleet/config_check.h"
#include "fleet/fleet.h"

namespace inlier {
namespace {

constexpr const char* kStoreFleet =
    "INSERT INTO fleet (one, id, config, from_configuration, minimum, maximum, stopped, home) "
    "VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (one) DO UPDATE "
    "SET id = ?1, config = ?2, from_configuration = ?3, minimum = ?4, maximum = ?5, stopped = ?6, home = ?7";
constexpr const char* kStoreSubmission =
    "INSERT INTO fleet_submission (number, jobs, state, job, message, at_ms, ended_ms) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (number) DO UPDATE "
    "SET jobs = ?2, state = ?3, job = ?4, message = ?5, ended_ms = ?7";

template <typename T>
SqlValue ValueOf(const std::optional<T>& number) {
  return number ? SqlValue(static_cast<std::int64_t>(*number)) : SqlValue();
}

template <typename T>
std::optional<T> NumberOf(const SqlValue& value) {
  if (std::holds_alternative<std::monostate>(value)) return std::nullopt;
  return static_cast<T>(Integer(value));
}

ServiceStatement RowOf(const FleetRow& row) {
  return {.sql = kStoreFleet,
          .values = {row.id, row.config_json, std::int64_t{row.from_configuration}, ValueOf(row.minimum),
                     ValueOf(row.maximum), std::int64_t{row.stopped}, row.home}};
}

ServiceStatement RowOf(const FleetSubmissionRow& row) {
  static constexpr const char* kStates[] = {"ASKED", "TAKEN", "REFUSED", "ENDED", "LOST"};
  return {.sql = kStoreSubmission,
          .values = {static_cast<std::int64_t>(row.number), std::int64_t{row.jobs},
                     std::string(kStates[static_cast<int>(row.state)]),
                     row.job.empty() ? SqlValue() : SqlValue(row.job), row.message, row.at.unix_ms,
                     row.ended_at ? SqlValue(row.ended_at->unix_ms) : SqlValue()}};
}

// The jobs that are there are those of the coordinator whose database was copied: this one's get names of their own.
void StartApart(FleetContext& context, const std::string& new_id) {
  Fleet& fleet = context.fleet;
  const std::string before = std::exchange(fleet.row->id, new_id);
  const std::string whose = absl::StrCat("they stay with the coordinator of ", fleet.row->home);
  context.Log("fleet_of_a_copy id=", fleet.row->id, " copied_from=", LogText(fleet.row->home),
              " jobs_of_before=\"inlier-", before, "-*: ", whose,
              "; where no coordinator is to run there any more, cancel them\"");
  while (!fleet.submissions.empty())
    EndSubmission(
        context, fleet.submissions.begin()->first, FleetSubmissionRow::State::kLost,
        absl::StrCat("the database was copied: its jobs are of the fleet ", before, ", and ", whose));
}

}  // namespace

absl::StatusOr<StoredFleet> LoadFleet(Reader& reader, const std::filesystem::path& state_dir,
                                      const std::string& database_id) {
  StoredFleet stored;
  std::error_code error;
  stored.home = std::filesystem::canonical(state_dir, error).string();
  ASSIGN_OR_RETURN(
      const SqlRows fleet,
      reader.Select("SELECT id, config, from_configuration, minimum, maximum, stopped, home FROM fleet"));
  for (const std::vector<SqlValue>& row : fleet.rows) {
    stored.row = FleetRow{.id = Text(row[0]),
                          .config_json = Text(row[1]),
                          .from_configuration = Integer(row[2]) != 0,
                          .minimum = NumberOf<std::uint32_t>(row[3]),
                          .maximum = NumberOf<std::uint32_t>(row[4]),
                          .stopped = Integer(row[5]) != 0,
                          .home = Text(row[6])};
    stored.copied = AlsoHas(stored.row->home, stored.home, database_id);
  }
  ASSIGN_OR_RETURN(const SqlRows open,
                   reader.Select("SELECT number, jobs, state = 'TAKEN', job, at_ms FROM fleet_submission "
                                 "WHERE ended_ms IS NULL ORDER BY number"));
  for (const std::vector<SqlValue>& row : open.rows) {
    using State = FleetSubmissionRow::State;
    stored.submissions.push_back({.number = static_cast<std::uint64_t>(Integer(row[0])),
                                  .jobs = static_cast<std::uint32_t>(Integer(row[1])),
                                  .state = Integer(row[2]) != 0 ? State::kTaken : State::kAsked,
                                  .job = Text(row[3]),
                                  .at = WallTime{Integer(row[4])}});
  }
  ASSIGN_OR_RETURN(const SqlRows next,
                   reader.Select("SELECT 1 + coalesce(max(number), 0) FROM fleet_submission"));
  stored.next_submission = static_cast<std::uint64_t>(Integer(next.rows.at(0).at(0)));
  return stored;
}

ChangeBatch BatchOf(const std::vector<FleetChange>& changes) {
  ChangeBatch batch;
  for (const FleetChange& change : changes)
    batch.Add(std::visit([](const auto& row) { return RowOf(row); }, change));
  return batch;
}

absl::Status ApplyFleetRow(Fleet& fleet) {
  fleet.config.Clear();
  if (!google::protobuf::util::JsonStringToMessage(fleet.row->config_json, &fleet.config).ok())
    return absl::DataLossError(
        "the database is damaged or was edited: the configuration of the fleet cannot be read; restore "
        "inlier.db from a backup");
  if (fleet.row->minimum) fleet.config.set_minimum(*fleet.row->minimum);
  if (fleet.row->maximum) fleet.config.set_maximum(*fleet.row->maximum);
  return absl::OkStatus();
}

absl::Status RecoverFleet(FleetContext& context, const FleetOptions& options, StoredFleet stored) {
  Fleet& fleet = context.fleet;
  fleet.home = stored.home;
  fleet.row = stored.row;
  fleet.next_submission = stored.next_submission;
  if (INLIER_BUG("submission_number_used_again") && fleet.next_submission > 1) --fleet.next_submission;
  for (FleetSubmissionRow& row : stored.submissions) {
    const std::uint64_t number = row.number;
    const bool taken = row.state == FleetSubmissionRow::State::kTaken;
    fleet.submissions[number] = {.row = std::move(row), .since = context.now, .seen = taken};
  }
  const bool runs = !options.new_id.empty();
  if (fleet.row && runs && stored.copied) StartApart(context, options.new_id);
  if (options.config) {
    FleetRow row = fleet.row.value_or(FleetRow{.id = options.new_id});
    // It replaces one that a user made, or that was stopped when it was taken out.
    if (!row.from_configuration) row = FleetRow{.id = row.id};
    row.from_configuration = true;
    const std::string before = std::exchange(row.config_json, "");
    v1::FleetConfig earlier;  // Of none, and of one that cannot be read, the jobs differ.
    static_cast<void>(google::protobuf::util::JsonStringToMessage(before, &earlier));
    if (!google::protobuf::util::MessageToJsonString(*options.config, &row.config_json).ok())
      return absl::InvalidArgumentError("fleet: it cannot be stored as JSON");
    if (row.config_json != before) fleet.slots_of = fleet.next_submission;
    if (JobsDiffer(earlier, *options.config)) fleet.config_since = fleet.next_submission;
    fleet.row = std::move(row);
    context.changes.emplace_back(*fleet.row);
  } else if (fleet.row && fleet.row->from_configuration && runs) {
    // It was taken out of the configuration: its jobs end.
    fleet.row->from_configuration = false;
    fleet.row->stopped = true;
    context.changes.emplace_back(*fleet.row);
  }
  if (fleet.row && runs && fleet.row->home != fleet.home) {
    fleet.row->home = fleet.home;
    context.changes.emplace_back(*fleet.row);
  }
  return fleet.row ? ApplyFleetRow(fleet) : absl::OkStatus();
}

}  // namespace inlier
