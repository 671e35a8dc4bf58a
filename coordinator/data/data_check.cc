#include "coordinator/data/data_check.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/time.h"
#include "base/utf8.h"
#include "coordinator/scheduling/placement.h"
#include "coordinator/state/transitions.h"
#include "spec/schema/limits.h"
#include "spec/trial/canonical.h"
#include "spec/trial/data_source.h"

namespace inlier {
namespace {

// Workers that may fail to read a source before it counts as one that cannot be read.
constexpr std::size_t kReadersMax = 8;
// Questions that a worker has at once, and that are given out in one call.
constexpr int kAskedMax = 64;

// Who is asked next; nullptr: all that are there were asked.
const WorkerEntry* NextReader(const State& state, DataId source, const DataCheck& check) {
  const DataId latest =
      state.data.source(source).versions.empty() ? DataId() : state.data.source(source).versions.back();
  const std::string last = latest ? state.data.at(latest).worker : std::string();
  const WorkerEntry* next = nullptr;
  for (const auto& [incarnation, known] : state.workers.all()) {
    if (!known.TakesWork() || check.problems.contains(incarnation)) continue;
    const auto rank = [&last](const WorkerEntry& worker) {
      return std::pair(worker.name != last, worker.number);
    };
    if (next == nullptr || rank(known) < rank(*next)) next = &known;
  }
  return next;
}

void Ask(Context& context, DataId source, DataCheck& check, const WorkerEntry& worker) {
  check.token = check.last_token = context.state.next_token++;
  check.worker = worker.incarnation;
  check.asked = context.now.at;
  check.reading.clear();
  check.pushed = false;
  // Committed before it is sent, like a lease's: no later process gives it to another question.
  context.out.changes.Add(TokenTaken{.token = check.token});
  context.out.workers.insert(worker.incarnation);
  context.Log("data_asked data=", source.ToString(), " token=", check.token, " worker=", worker.name);
}

void NoteProblem(Context& context, DataCheck& check, const std::string& problem) {
  context.Log("data_not_found token=", check.token, " worker=", check.worker);
  check.problems[check.worker] = problem;
  check.worker.clear();
  check.token = 0;
}

// Sweeps that wait for the source check it again: something has changed.
void EndDataWaits(State& state, DataId source) {
  std::erase_if(state.data_waits.sweeps, [&](SweepId id) {
    Sweep& sweep = state.sweeps.at(id);
    if (sweep.bound.waits_for != source) return false;
    sweep.bound.waits_for = DataId();
    return true;
  });
}

void EndStalledDataChecks(Context& context) {
  State& state = context.state;
  for (auto& [source, check] : state.data_waits.checks) {
    if (check.token == 0 || check.asked + state.options.stall > context.now.at) continue;
    NoteProblem(context, check,
                absl::StrCat("no answer for ", FormatDuration(state.options.stall), " (stall_seconds)"));
  }
}

std::optional<Timestamp> DataCheckDue(const State& state) {
  std::optional<Timestamp> due;
  for (const auto& [source, check] : state.data_waits.checks) {
    if (check.token != 0) due = Earlier(due, check.asked + state.options.stall);
  }
  return due;
}

void EndWaitsForAttempt(Context& context, const Attempt& attempt, const AttemptEnd&) {
  State& state = context.state;
  const Stage& stage = state.stages.at(attempt.stage);
  if (!state.data_waits.sweeps.empty() && stage.kind == v1::TRAIN_STAGE && !state.data.IsKnown(stage.data))
    EndDataWaits(state, stage.data);
}

}  // namespace

DataId FindOrAddSource(Context& context, const std::string& names) {
  DataTable& data = context.state.data;
  if (const DataId known = data.FindSource(names)) return known;
  DataRow row{.id = data.NextId(), .names = names, .at = context.now.wall};
  context.out.changes.Add(row);
  return data.Add(std::move(row)).id;
}

DataId FindOrAddVersion(Context& context, DataId source, const Digest& digest, const std::string& worker) {
  DataTable& data = context.state.data;
  if (const DataId known = data.FindVersion(source, digest)) return known;
  DataRow row{.id = data.NextId(),
              .names = data.at(source).names,
              .digest = digest,
              .worker = ReplaceInvalidUtf8(worker),
              .at = context.now.wall};
  context.Log("data_found data=", row.id.ToString(), " source=", source.ToString(), " digest=", HexOf(digest),
              " worker=", worker);
  context.out.changes.Add(row);
  return data.Add(std::move(row)).id;
}

void DataFound(Context& context, DataId version, Token as_of) {
  State& state = context.state;
  state.data.Found(version, as_of);
  EndDataWaits(state, state.data.SourceOf(version));
}

void WaitForData(Context& context, Sweep& sweep, DataId source, bool ask) {
  State& state = context.state;
  sweep.bound.waits_for = source;
  ++sweep.version;
  state.data_waits.sweeps.insert(sweep.id);
  if (ask) state.data_waits.checks.try_emplace(source);
}

void AskForData(Context& context, const WorkerEntry* answered) {
  State& state = context.state;
  std::vector<DataId> unreadable;
  std::map<std::string, int> asked_of;
  for (const auto& [source, check] : state.data_waits.checks) {
    if (!check.worker.empty()) ++asked_of[check.worker];
  }
  int given_out = 0;
  for (auto& [source, check] : state.data_waits.checks) {
    if (check.worker.empty()) {
      if (++given_out > kAskedMax) continue;
      const WorkerEntry* worker =
          check.problems.size() < kReadersMax ? NextReader(state, source, check) : nullptr;
      if (worker != nullptr) {
        if (++asked_of[worker->incarnation] > kAskedMax) continue;
        Ask(context, source, check, *worker);
      } else if (!check.problems.empty()) {
        unreadable.push_back(source);
        continue;
      }
    }
    const WorkerEntry* asked = check.worker.empty() ? nullptr : state.workers.Find(check.worker);
    if (asked == nullptr || check.pushed || (!asked->listening && asked != answered)) continue;
    check.pushed = true;
    if (asked != answered) context.out.stopped.insert(check.worker);
  }
  for (const DataId source : unreadable) {
    const Token as_of = state.data_waits.checks.at(source).last_token;
    state.data_waits.checks.erase(source);
    DataFound(context, source, as_of);
  }
}

void TakeDataChecked(Context& context, WorkerEntry& worker, const v1::WorkerSync& sync) {
  State& state = context.state;
  for (const v1::DataChecked& checked : sync.data_checked()) {
    for (auto at = state.data_waits.checks.begin(); at != state.data_waits.checks.end(); ++at) {
      DataCheck& check = at->second;
      if (check.token == 0 || check.token != checked.token() || check.worker != worker.incarnation) continue;
      const std::optional<Digest> digest = ParseSha256Hex(checked.digest());
      if (!digest && checked.problem().empty()) {  // It has not ended.
        if (checked.digest() != check.reading) check.asked = context.now.at;
        check.reading = checked.digest();
        break;
      }
      if (!digest) {
        NoteProblem(context, check, ReplaceInvalidUtf8(CutUtf8(checked.problem(), Limits::kMessageBytesMax)));
        break;
      }
      const DataId version = FindOrAddVersion(context, at->first, *digest, worker.name);
      DataRow& row = state.data.at(version);
      row.worker = ReplaceInvalidUtf8(worker.name);
      row.at = context.now.wall;
      context.out.changes.Add(row);
      SetWorkerData(state, worker, version);
      const Token as_of = check.token;
      state.data_waits.checks.erase(at);
      DataFound(context, version, as_of);
      break;
    }
  }
}

void FillDataChecks(const State& state, const WorkerEntry& worker, v1::CoordinatorSync& answer) {
  for (const auto& [source, check] : state.data_waits.checks) {
    if (check.token == 0 || check.worker != worker.incarnation) continue;
    v1::DataCheck& asked = *answer.add_check_data();
    asked.set_token(check.token);
    const absl::StatusOr<v1::TrialSpec> spec = TrialSpecFromJson(state.data.at(source).names);
    if (spec.ok()) asked.set_source(spec->SerializeAsString());
  }
}

void ForgetDataChecks(State& state, const std::string& incarnation) {
  for (auto& [source, check] : state.data_waits.checks) {
    if (check.worker != incarnation) continue;
    check.worker.clear();
    check.token = 0;
  }
}

Feature DataChecks() {
  return {.due = DataCheckDue,
          .act = EndStalledDataChecks,
          .attempt_ended = EndWaitsForAttempt,
          .worker_lost = [](Context& context, WorkerEntry& worker) {
            ForgetDataChecks(context.state, worker.incarnation);
          }};
}

std::string WhyWaitsForData(const State& state, const Sweep& sweep) {
  std::string text = absl::StrCat("it waits for a worker to compare ",
                                  DataSourceText(state.data.at(sweep.bound.waits_for).names),
                                  " with the data of the known result");
  const auto check = state.data_waits.checks.find(sweep.bound.waits_for);
  if (check == state.data_waits.checks.end())
    return absl::StrCat(text, ": an attempt that reads it has not reported its digest yet");
  const WorkerEntry* asked = state.workers.Find(check->second.worker);
  absl::StrAppend(&text, asked == nullptr ? std::string(": no worker is connected that takes work")
                                          : absl::StrCat(": worker ", asked->name, " was asked"));
  if (!check->second.reading.empty()) absl::StrAppend(&text, " and is ", check->second.reading);
  for (const auto& [incarnation, problem] : check->second.problems) {
    const WorkerEntry* worker = state.workers.Find(incarnation);
    absl::StrAppend(&text, "; worker ", worker == nullptr ? incarnation : worker->name,
                    " could not: ", problem);
  }
  return text;
}

}  // namespace inlier
