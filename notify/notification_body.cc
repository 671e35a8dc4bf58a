#include "notify/notification_body.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inlier/v1/attempt.pb.h"

namespace inlier {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kTextBytesMax = 500;  // Of a message or a label.
constexpr std::size_t kLabelsMax = 50;

constexpr char kSweep[] =
    "SELECT sweep, owner, (SELECT state FROM sweep WHERE id = ?2), submitted_at, ended_at, trials, pending, "
    "running, succeeded, diverged, failed, cancelled FROM sweeps WHERE sweep_id = ?1";
constexpr char kFailures[] =
    "SELECT count(*), min(at_ms) FROM event JOIN trial ON trial.id = event.trial "
    "WHERE event.id > ?2 AND event.id <= ?3 AND kind = 'trial_failed' AND event.sweep = ?1 AND point >= 0";
// The message of a trial begins with the class of the failure of the attempt that it failed by.
constexpr char kFailedTrials[] =
    "SELECT trial.id, event.message, labels, attempt.stage, coalesce(name, attempt.worker) "
    "FROM event JOIN trial ON trial.id = event.trial LEFT JOIN attempt ON attempt.token = "
    "(SELECT max(token) FROM attempt WHERE stage IN (train_stage, evaluate_stage) AND outcome = 'FAILED' "
    "AND substr(event.message, 1, length(failure)) = failure) "
    "LEFT JOIN worker ON worker.incarnation = attempt.worker "
    "WHERE event.id > ?2 AND event.id <= ?3 AND kind = 'trial_failed' AND event.sweep = ?1 AND point >= 0 "
    "ORDER BY event.id LIMIT 10";

std::string Short(const std::string& text) {
  return std::string(CutUtf8(ReplaceInvalidUtf8(text.substr(0, 4 * kTextBytesMax)), kTextBytesMax));
}

Json TrialJson(const std::vector<SqlValue>& row) {
  const std::string message = Text(row[1]);
  Json labels = Json::object();
  const Json stored = Json::parse(Text(row[2]), nullptr, /*allow_exceptions=*/false);
  for (const auto& [axis, label] : stored.items()) {
    if (labels.size() < kLabelsMax && label.is_string()) labels[axis] = Short(label.get<std::string>());
  }
  Json json = {{"id", TrialId(Integer(row[0])).ToString()}, {"labels", std::move(labels)}};
  if (const std::int64_t stage = Integer(row[3]); stage > 0) {
    json["stage"] = StageId(stage).ToString();
    json["worker"] = Text(row[4]);
  }
  v1::FailureClass failure;
  const std::string first = message.substr(0, message.find_first_of(":;"));
  if (v1::FailureClass_Parse(first, &failure)) json["failure"] = first;
  json["message"] = Short(message);
  return json;
}

}  // namespace

absl::StatusOr<SweepPart> ReadSweep(Reader& reader, SweepId sweep, const std::optional<SweepEnd>& end) {
  ASSIGN_OR_RETURN(const SqlRows found, reader.Select(kSweep, {sweep.ToString(), sweep.value()}));
  if (found.rows.empty()) return absl::NotFoundError(absl::StrCat("there is no sweep ", sweep.ToString()));
  const std::vector<SqlValue>& row = found.rows.front();
  const std::string state = end ? end->state : Text(row[2]);
  const std::string ended = end ? FormatUtc(end->at) : Text(row[4]);
  SweepPart part{.name = absl::StrCat("sweep ", Text(row[0]), " (", sweep.ToString(), ")")};
  part.json = {{"id", sweep.ToString()},
               {"name", Text(row[0])},
               {"owner", Text(row[1])},
               {"state", state},
               {"submitted", Text(row[3])}};
  if (!ended.empty()) part.json["ended"] = ended;
  constexpr const char* kStates[] = {"pending", "running", "succeeded", "diverged", "failed", "cancelled"};
  Json& trials = part.json["trials"] = {{"total", Integer(row[5])}};
  std::int64_t not_made = Integer(row[5]);
  for (std::size_t i = 0; i < std::size(kStates); ++i) {
    trials[kStates[i]] = Integer(row[6 + i]);
    not_made -= Integer(row[6 + i]);
  }
  Json& rest = trials[state == "ACTIVE" ? "pending" : "cancelled"];
  rest = rest.get<std::int64_t>() + std::max<std::int64_t>(0, not_made);
  for (const char* name : {"succeeded", "diverged", "failed", "cancelled", "running", "pending"}) {
    if (trials[name] > 0)
      absl::StrAppend(&part.counts, part.counts.empty() ? "" : ", ", trials[name].dump(), " ", name);
  }
  if (part.counts.empty()) part.counts = "no trials";
  return part;
}

absl::StatusOr<FailurePart> ReadFailures(Reader& reader, SweepId sweep, std::int64_t after,
                                         std::int64_t last) {
  FailurePart part;
  ASSIGN_OR_RETURN(const SqlRows count, reader.Select(kFailures, {sweep.value(), after, last}));
  part.failures = Integer(count.rows.at(0).at(0));
  if (part.failures == 0) return part;
  part.at = {Integer(count.rows[0][1])};
  ASSIGN_OR_RETURN(const SqlRows trials, reader.Select(kFailedTrials, {sweep.value(), after, last}));
  part.first_trial = TrialId(Integer(trials.rows.at(0).at(0)));
  for (const std::vector<SqlValue>& row : trials.rows) part.trials.push_back(TrialJson(row));
  return part;
}

}  // namespace inlier
