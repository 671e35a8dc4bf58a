#include "cli/sweeps/name_note.h"

#include "absl/strings/str_cat.h"
#include "cli/query_rows.h"

namespace inlier {

std::string NoteOnSameName(Session& session, const std::string& sweep_id) {
  const auto rows = QueryRows(
      session, absl::StrCat("SELECT other.sweep_id, other.sweep FROM sweeps AS one JOIN sweeps AS other ON "
                            "other.sweep = one.sweep AND other.owner IS one.owner WHERE one.sweep_id = ",
                            SqlText(sweep_id), " ORDER BY CAST(substr(other.sweep_id, 3) AS INTEGER)"));
  if (!rows.ok() || rows->rows_size() < 2) return "";
  const std::string newest = rows->rows(rows->rows_size() - 1).values(0).text();
  const std::string other =
      rows->rows(newest == sweep_id ? rows->rows_size() - 2 : rows->rows_size() - 1).values(0).text();
  return absl::StrCat(other, " has the name ", rows->rows(0).values(1).text(), ", too: as a name it means ",
                      newest, ", the newest");
}

}  // namespace inlier
