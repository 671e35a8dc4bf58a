// inlier __complete: words for a shell, quick, and silent when nothing answers.
#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "spec/schema/plain_name.h"
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

// Ids and names of the latest sweeps, and with `trials` the ids of the trials of the very latest.
std::string SweepWords(Session& session, bool sweeps, bool trials) {
  v1::ListSweepsRequest list;
  list.set_page_size(kSweeps);
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

}  // namespace

void AddCompleteCommand(CLI::App& app, Session& session) {
  auto kind = std::make_shared<std::string>();
  auto file = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("__complete", "Words for a shell: sweeps, trials, both, workers, scales FILE");
  command->add_option("kind", *kind)->required();
  command->add_option("file", *file);
  command->callback([&session, kind, file] {
    if (*kind == "scales") {
      Print(ScaleWords(*file));
    } else if (!Answers(session)) {
      return;
    } else if (*kind == "workers") {
      Print(WorkerWords(session));
    } else {
      Print(SweepWords(session, *kind != "trials", *kind != "sweeps"));
    }
  });
}

}  // namespace inlier
