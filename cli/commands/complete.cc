// inlier __complete: words for a shell, quick, and silent when nothing answers.
#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/commands.h"
#include "spec/program/measurement_list.h"
#include "spec/schema/plain_name.h"
#include "spec/sweep/point_labels.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

constexpr double kCompletionSeconds = 1;
constexpr std::uint32_t kSweeps = 50;
constexpr int kSweepsWithTrials = 3;
constexpr std::uint32_t kTrialsOfASweep = 200;

// A line of the answer. A name that a shell would have to quote is left out.
void AddWord(std::string& words, const std::string& word) {
  if (IsPlainName(word)) absl::StrAppend(&words, word, "\n");
}

bool Answers(Session& session) {
  session.quiet = true;
  const auto answerer = session.FindAnswerer();
  return answerer.ok() && answerer->kind != Answerer::kStored;
}

// Ids and names of the latest sweeps of this kind, and ids of the trials of the very latest.
std::string SweepWords(Session& session, const std::string& kind) {
  const bool sweeps = kind != "trials", trials = kind == "trials" || kind == "both";
  v1::ListSweepsRequest list;
  list.set_page_size(kSweeps);
  list.set_all(kind == "all");
  list.set_removed(kind == "removed");
  const auto response = session.Call(&SweepStub::ListSweeps, list, kCompletionSeconds);
  if (!response.ok()) return "";
  std::string words;
  if (sweeps) {
    for (const v1::SweepStatus& sweep : response->sweeps()) {
      AddWord(words, sweep.sweep_id());
      AddWord(words, sweep.name());
    }
  }
  for (int i = 0; trials && i < std::min(kSweepsWithTrials, response->sweeps_size()); ++i) {
    v1::ListTrialsRequest request;
    request.set_sweep(response->sweeps(i).sweep_id());
    request.set_page_size(kTrialsOfASweep);
    const auto page = session.Call(&SweepStub::ListTrials, request, kCompletionSeconds);
    if (!page.ok()) break;
    for (const v1::TrialStatus& trial : page->trials()) AddWord(words, trial.trial_id());
  }
  return words;
}

std::string WorkerWords(Session& session) {
  const auto workers = session.ListWorkers(/*connected=*/true, kCompletionSeconds);
  std::string words;
  if (!workers.ok()) return words;
  for (const v1::WorkerStatus& worker : workers->workers()) AddWord(words, worker.name());
  return words;
}

std::string ScaleWords(const std::string& file) {
  std::string words;
  const auto names = ReadScaleNames(file);
  if (!names.ok()) return words;
  for (const std::string& name : *names) AddWord(words, name);
  return words;
}

// Of a sweep, or of the file of one.
absl::StatusOr<v1::SweepSpec> SpecOf(Session& session, const std::string& of) {
  if (of.ends_with(".yaml") || of.ends_with(".yml")) return ReadSweepFile(of);
  if (of.empty() || !Answers(session)) return absl::NotFoundError("no sweep");
  v1::GetSweepRequest request;
  request.set_sweep(of);
  ASSIGN_OR_RETURN(v1::SweepStatus sweep, session.Call(&SweepStub::GetSweep, request, kCompletionSeconds));
  return std::move(*sweep.mutable_spec());
}

// The axes of a sweep; its measurements, or where there is no sweep those of inlier's models.
std::string NamesOfSpec(Session& session, const std::string& kind, const std::string& of) {
  std::string words;
  const absl::StatusOr<v1::SweepSpec> spec = SpecOf(session, of);
  if (kind == "measurements") {
    const auto list = spec.ok() ? MeasurementList::Of(*spec) : MeasurementList::OfModels();
    for (const MeasurementInfo& info : list->all()) AddWord(words, std::string(info.name));
  } else if (spec.ok()) {
    for (const std::string& axis : AxisNames(*spec)) AddWord(words, axis);
  }
  return words;
}

}  // namespace

void AddCompleteCommand(CLI::App& app, Session& session) {
  auto kind = std::make_shared<std::string>();
  auto of = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("__complete",
                                         "Words for a shell: sweeps, all, removed, trials, both, workers, "
                                         "scales FILE, axes or measurements of a "
                                         "sweep or FILE");
  command->add_option("kind", *kind)->required();
  command->add_option("of", *of);
  command->callback([&session, kind, of] {
    if (*kind == "scales") {
      Print(ScaleWords(*of));
    } else if (*kind == "axes" || *kind == "measurements") {
      Print(NamesOfSpec(session, *kind, *of));
    } else if (!Answers(session)) {
      return;
    } else if (*kind == "workers") {
      Print(WorkerWords(session));
    } else {
      Print(SweepWords(session, *kind));
    }
  });
}

}  // namespace inlier
