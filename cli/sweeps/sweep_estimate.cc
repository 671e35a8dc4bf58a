#include "cli/sweeps/sweep_estimate.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/terminal/time_left.h"
#include "nlohmann/json.hpp"
#include "spec/trial/canonical.h"
#include "spec/trial/validator.h"

namespace inlier {
namespace {

// The newest stages, as many as fit into an answer with their specifications.
constexpr char kTrainings[] =
    "SELECT stage.spec, measurement.value / stage.steps FROM stage "
    "JOIN measurement ON measurement.token = stage.result_token AND measurement.name = 'train_seconds' "
    "AND measurement.final = 1 WHERE stage.kind = 'TRAIN_STAGE' AND stage.steps > 0 ORDER BY stage.id DESC "
    "LIMIT 500";
constexpr char kEvaluations[] =
    "SELECT train.spec, (attempt.ended_ms - attempt.started_ms) / 1000.0 FROM stage "
    "JOIN attempt ON attempt.token = stage.result_token JOIN stage AS train ON train.id = stage.train_stage "
    "WHERE stage.kind = 'EVALUATE_STAGE' AND attempt.worker <> '' ORDER BY stage.id DESC LIMIT 500";
constexpr double kEstimateSeconds = 5;
// Evaluations that are counted: each takes memory.
constexpr std::size_t kStagesMax = 20'000;

// Adds the mean of the second column of `sql` by the kind of the first.
bool AddPaces(Session& session, const char* sql, double Pace::*mean, std::uint64_t Pace::*count,
              std::map<std::string, Pace>* paces) {
  v1::QueryRequest request;
  request.set_sql(sql);
  const auto rows = session.Call(&SweepStub::Query, request, kEstimateSeconds);
  if (!rows.ok()) return false;
  std::map<std::string, std::string> kinds;  // By specification.
  for (const v1::QueryRow& row : rows->rows()) {
    const auto [kind, is_new] = kinds.try_emplace(row.values(0).text());
    if (is_new) kind->second = WorkKind(kind->first);
    Pace& pace = (*paces)[kind->second];
    pace.*mean += (row.values(1).real() - pace.*mean) / static_cast<double>(++(pace.*count));
  }
  return true;
}

}  // namespace

std::string WorkKind(const std::string& resolved_json) {
  const nlohmann::json spec = nlohmann::json::parse(resolved_json, nullptr, /*allow_exceptions=*/false);
  if (!spec.is_object() || !spec.contains("model") || !spec.contains("data")) return "";
  nlohmann::json model = spec["model"];
  for (auto& architecture : model) {
    if (architecture.is_object()) architecture.erase("preset");
  }
  const nlohmann::json training = spec.value("training", nlohmann::json::object());
  const nlohmann::json kind = {{"model", model},
                               {"data", spec["data"]},
                               {"batch_size", training.value("batch_size", nlohmann::json())},
                               {"accumulation", training.value("gradient_accumulation", nlohmann::json())},
                               {"precision", training.value("precision", nlohmann::json())}};
  return kind.dump();
}

SweepWork CountWork(const SweepGrid& grid, Duration time) {
  const Timestamp deadline = MonotonicNow() + time;
  SweepWork work;
  std::map<std::string, std::string> trainings;  // Fingerprint -> kind.
  std::set<std::string> evaluations;
  SeriesValidator series;
  for (auto index = grid.NextIndex(0); index; index = grid.NextIndex(*index + 1)) {
    if (MonotonicNow() > deadline || evaluations.size() >= kStagesMax) {
      work.whole = false;
      break;
    }
    const auto point = grid.At(*index);
    if (!point.ok()) continue;
    v1::TrialSpec resolved = point->spec;
    if (!grid.form().Resolve(&resolved).ok() || !grid.form().Find(resolved, series).empty()) continue;
    const std::string train = TrainFingerprint(resolved);
    auto known = trainings.find(train);
    if (known == trainings.end()) {
      known = trainings.emplace(train, WorkKind(ResolvedPartJson(resolved, v1::TRAIN_STAGE))).first;
      Work& kind = work.kinds[known->second];
      ++kind.trainings;
      kind.steps += resolved.training().steps();
    }
    if (evaluations.insert(EvaluateFingerprint(resolved, train)).second)
      ++work.kinds[known->second].evaluations;
  }
  if (grid.is_search()) work.whole = false;
  work.trainings = trainings.size();
  work.evaluations = evaluations.size();
  return work;
}

std::optional<double> SecondsOf(const SweepWork& work, const std::map<std::string, Pace>& paces) {
  double seconds = 0;
  for (const auto& [kind, of] : work.kinds) {
    const auto pace = paces.find(kind);
    if (kind.empty() || pace == paces.end() || pace->second.trainings == 0 ||
        (of.trainings > 0 && of.steps == 0))
      return std::nullopt;
    seconds += of.steps * pace->second.step_seconds +
               static_cast<double>(of.evaluations) * pace->second.evaluation_seconds;
  }
  return work.kinds.empty() ? std::nullopt : std::optional<double>(seconds);
}

std::string EstimateText(Session& session, const SweepWork& work) {
  if (!work.whole) return "";
  const bool quiet = std::exchange(session.quiet, true);  // Who answers is no news here.
  std::map<std::string, Pace> paces;
  // The database of the default folder is not opened for it: that may take long.
  const auto answerer = session.FindAnswerer();
  const bool answers =
      answerer.ok() && (answerer->kind != Answerer::kStored || !session.choice().dir_by.empty());
  const bool known = answers &&
                     AddPaces(session, kTrainings, &Pace::step_seconds, &Pace::trainings, &paces) &&
                     AddPaces(session, kEvaluations, &Pace::evaluation_seconds, &Pace::evaluations, &paces);
  session.quiet = quiet;
  const std::optional<double> seconds = known ? SecondsOf(work, paces) : std::nullopt;
  if (!seconds) return "";
  std::uint64_t trainings = 0, slots = 0;
  for (const auto& [kind, of] : work.kinds) trainings += paces.at(kind).trainings;
  const auto workers = session.ListWorkers(/*connected=*/true, kEstimateSeconds);
  for (int i = 0; workers.ok() && !session.shows_stored() && i < workers->workers_size(); ++i)
    slots += workers->workers(i).slots();
  const std::uint64_t places = std::max<std::uint64_t>(1, std::min(slots, work.evaluations));
  const double time = *seconds / static_cast<double>(places);
  return absl::StrCat("time: ", time < 60 ? "" : "about ", RoundedDuration(time), " on ", places,
                      places == 1 ? " slot" : " slots", ", by ", trainings,
                      " earlier trainings of these models and data; known results take none");
}

}  // namespace inlier
