#include "coordinator/store/views/program_list.h"

#include <utility>

#include "absl/strings/match.h"
#include "base/status.h"
#include "coordinator/store/sqlite_handle.h"
#include "google/protobuf/util/json_util.h"
#include "spec/program/program_columns.h"
#include "spec/program/program_description.h"

namespace inlier {

absl::StatusOr<std::vector<v1::ProgramDescription>> ReadPrograms(sqlite3* connection) {
  // Most sweeps have none: their text, which may have 100,000 values, is not parsed.
  ASSIGN_OR_RETURN(
      const auto rows,
      QueryTexts(connection,
                 "SELECT json_extract(spec, '$.program.description') AS description FROM main.sweep "
                 "WHERE instr(spec, '\"program\":') > 0 AND description IS NOT NULL "
                 "GROUP BY description ORDER BY min(id)"));
  std::vector<v1::ProgramDescription> programs;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  for (const std::vector<std::string>& row : rows) {
    v1::ProgramDescription program;
    if (google::protobuf::util::JsonStringToMessage(row[0], &program, options).ok() &&
        FindProgramProblems(program).empty())
      programs.push_back(std::move(program));
  }
  return programs;
}

std::string WhyNoColumn(sqlite3* connection, const std::string& message) {
  if (!absl::StartsWith(message, "no such column: ")) return "";
  const std::string column = message.substr(message.find_last_of(" .") + 1);
  const auto programs = ReadPrograms(connection);
  return programs.ok() ? WhyNoColumn(*programs, column) : "";
}

}  // namespace inlier
