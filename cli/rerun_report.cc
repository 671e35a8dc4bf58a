#include "cli/rerun_report.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "cli/query_rows.h"

namespace inlier {
namespace {

// The columns of the query, in their order.
enum Column { kTrial, kLabel, kMeasurement, kBefore, kNow, kEqual, kDigestBefore, kDigestNow };

struct Rerun {
  std::string label, digest_before, digest_now;
  int equal = 0;
  std::string differences;
};

std::string NumberText(const v1::QueryValue& value) {
  if (value.has_real()) return absl::StrFormat("%.17g", value.real());
  return value.has_integer() ? absl::StrCat(value.integer()) : std::string("none");
}

std::string ReportOf(const Rerun& rerun) {
  std::string text = rerun.differences.empty()
                         ? absl::StrCat(rerun.equal, " measurements, equal to the last digit")
                         : absl::StrCat(rerun.equal, " measurements equal, ", rerun.differences);
  if (rerun.digest_before != rerun.digest_now) {
    absl::StrAppend(&text, "; on other data: ", rerun.digest_before.substr(0, 12), " before, ",
                    rerun.digest_now.substr(0, 12), " now");
  }
  return text;
}

}  // namespace

absl::Status PrintReruns(Session& session, const std::string& sweep_id) {
  if (session.mode() == OutputMode::kQuiet) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      const v1::QueryResponse response,
      QueryRows(
          session,
          absl::StrCat("SELECT trial, label, measurement, before, now, equal, digest_before, digest_now "
                       "FROM reruns WHERE sweep_id = '",
                       sweep_id, "' AND site = '' ORDER BY length(trial), trial, measurement"),
          100'000));
  std::map<std::pair<std::size_t, std::string>, Rerun> reruns;  // By number.
  for (const v1::QueryRow& row : response.rows()) {
    const std::string& trial = row.values(kTrial).text();
    Rerun& rerun = reruns[{trial.size(), trial}];
    rerun.label = row.values(kLabel).text();
    rerun.digest_before = row.values(kDigestBefore).text();
    rerun.digest_now = row.values(kDigestNow).text();
    if (row.values(kEqual).integer() != 0) {
      ++rerun.equal;
      continue;
    }
    absl::StrAppend(&rerun.differences, rerun.differences.empty() ? "" : ", ",
                    row.values(kMeasurement).text(), " ", NumberText(row.values(kBefore)), " before, ",
                    NumberText(row.values(kNow)), " now");
  }
  for (const auto& [key, rerun] : reruns) {
    if (session.people()) {
      Print(absl::StrCat(key.second, rerun.label.empty() ? "" : absl::StrCat(" (", rerun.label, ")"), ": ",
                         ReportOf(rerun), "\n"));
    } else {
      PrintJson({{"trial", key.second},
                 {"equal", rerun.differences.empty()},
                 {"differences", rerun.differences},
                 {"digest_before", rerun.digest_before},
                 {"digest_now", rerun.digest_now}},
                -1);
    }
  }
  if (session.people() && response.truncated()) Print("further ones: the view reruns\n");
  return absl::OkStatus();
}

}  // namespace inlier
