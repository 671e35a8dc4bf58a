#include "tests/simulation/people.h"

#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "coordinator/status/status.h"
#include "google/protobuf/util/json_util.h"
#include "spec/sweep/sweep_reader.h"
#include "spec/trial/canonical.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

struct Action {
  int weight;
  void (People::*run)();
};

constexpr Action kActions[] = {
    {30, &People::Submit},    {6, &People::CancelSweep}, {8, &People::CancelTrial}, {10, &People::RetrySweep},
    {8, &People::RetryTrial}, {10, &People::Look},       {8, &People::Pause},       {10, &People::Resume},
    {16, &People::Edit},      {10, &People::Drain},
};
constexpr Action kRemovals[] = {{30, &People::Remove}, {12, &People::Restore}, {20, &People::Free}};

// Another rule of pruning, or another way to draw points, than none.
void Vary(Random& random, v1::SweepSpec& spec) {
  if (random.PerMille(350)) {
    v1::PruningSpec& pruning = *spec.mutable_pruning();
    pruning.set_measurement("train_loss");
    pruning.set_goal(random.PerMille(500) ? v1::PruningSpec::MINIMIZE : v1::PruningSpec::MAXIMIZE);
    if (random.PerMille(500)) {
      pruning.mutable_median()->set_min_trials(1 + static_cast<std::uint32_t>(random.Below(2)));
      pruning.mutable_median()->set_interval(30);
    } else {
      pruning.mutable_asha()->set_min_steps(30);
      pruning.mutable_asha()->set_reduction(2);
      if (pruning.goal() == v1::PruningSpec::MAXIMIZE) pruning.mutable_asha()->set_brackets(2);
    }
  }
  if (random.PerMille(200)) {
    spec.mutable_axes(0)->set_each(true);
    v1::Axis& size = *spec.add_axes();
    size.set_field("training.batch_size");
    size.mutable_range()->set_min(1);
    size.mutable_range()->set_max(64);
    const auto trials = static_cast<std::uint32_t>(1 + random.Below(2));
    if (random.PerMille(500)) {
      spec.mutable_sampling()->mutable_random()->set_trials(trials);
    } else {
      spec.mutable_sampling()->mutable_sobol()->set_trials(trials);
    }
  }
}

// In place of another way to draw points: those that samplers ask for.
void Search(Random& random, v1::SweepSpec& spec) {
  spec.mutable_axes(0)->set_each(true);
  if (!spec.has_sampling()) {
    v1::Axis& size = *spec.add_axes();
    size.set_field("training.batch_size");
    size.mutable_range()->set_min(1);
    size.mutable_range()->set_max(64);
  }
  v1::OptunaSampling& search = *spec.mutable_sampling()->mutable_optuna();
  search.set_trials(static_cast<std::uint32_t>(1 + random.Below(4)));
  search.add_objectives()->set_measurement("perplexity");
}

// Half of the trainings start from the other half.
void FineTune(Random& random, v1::SweepSpec& spec) {
  v1::Axis& phase = *spec.add_axes();
  phase.set_name("phase");
  if (spec.has_sampling()) phase.set_each(true);
  phase.add_variants()->set_label("first");
  v1::Variant& then = *phase.add_variants();
  then.set_label("then");
  v1::TrialSpec set;
  set.mutable_training()->mutable_start_from()->set_point(random.PerMille(500) ? "phase=first"
                                                                               : "phase=first, seed=1");
  set.mutable_training()->set_steps(110);
  google::protobuf::Struct& fields = *then.mutable_set();
  INLIER_CHECK(google::protobuf::util::JsonStringToMessage(CanonicalJson(set), &fields).ok());
}

}  // namespace

void People::Act() {
  if (world_.plan().searches && world_.random().PerMille(300)) return Extend();
  std::vector<Action> actions(std::begin(kActions), std::end(kActions));
  if (world_.plan().removals) actions.insert(actions.end(), std::begin(kRemovals), std::end(kRemovals));
  int total = 0;
  for (const Action& action : actions) total += action.weight;
  int what = world_.random().Below(total);
  for (const Action& action : actions) {
    if (what < action.weight) return (this->*action.run)();
    what -= action.weight;
  }
}

Caller People::Admin() { return {.name = "root", .role = "admin", .peer = "here", .admin = true}; }

Caller People::Somebody() {
  if (!checked_) return {};
  const int which = world_.random().Below(5);
  if (which == 0) return Admin();
  return {.name = which < 3 ? "alice" : "bob", .role = "submit", .peer = "here", .admin = false};
}

Caller People::SomebodyFor(const std::string& name) {
  Caller somebody = Somebody();
  if (checked_ && world_.random().PerMille(600)) {
    somebody.name = oracle_.OwnerOf(name);
    somebody.admin = somebody.name == Admin().name;
  }
  return somebody;
}

void People::Submit() {
  if (submitted_ >= kSweepsMax) return;
  Random& random = world_.random();
  // Few different trainings, so that sweeps share stages.
  v1::SweepSpec spec = SmallSweep(absl::StrCat("sweep", submitted_), 1 + random.Below(3),
                                  random.PerMille(600) ? std::vector<double>{8} : std::vector<double>{8, 6});
  spec.mutable_base()->mutable_training()->set_steps(100 + static_cast<std::uint32_t>(random.Below(3)));
  spec.set_priority(random.Below(3));
  Vary(random, spec);
  if (world_.plan().searches && random.PerMille(500)) Search(random, spec);
  if (random.PerMille(250)) FineTune(random, spec);
  if (const std::string trial = SomeTrial(); !trial.empty() && random.PerMille(150))
    spec.mutable_base()->mutable_training()->mutable_start_from()->set_trial(trial);
  if (!CheckedGrid(spec).ok()) spec.clear_pruning();  // Too few trials to compare.
  INLIER_CHECK(CheckedGrid(spec).ok());
  if (random.PerMille(400)) spec.set_max_parallel(1 + static_cast<std::uint32_t>(random.Below(2)));
  if (random.PerMille(250)) spec.set_stop_after_failures(1 + static_cast<std::uint32_t>(random.Below(2)));
  if (random.PerMille(500))
    spec.mutable_retry()->set_max_losses(1 + static_cast<std::uint32_t>(random.Below(3)));
  if (random.PerMille(500))
    spec.mutable_retry()->set_max_crashes(1 + static_cast<std::uint32_t>(random.Below(3)));
  if (random.PerMille(300)) {
    // The memory of every machine; with more than that two attempts do not fit at once.
    spec.mutable_resources()->set_memory_mib(500 + 500 * static_cast<std::uint32_t>(random.Below(4)));
    if (random.PerMille(500)) spec.mutable_resources()->set_gpu(0.3 + 0.35 * random.Below(3));
  }
  if (world_.plan().gangs && random.PerMille(400)) {
    v1::ResourceSpec& resources = *spec.mutable_resources();
    resources.set_processes(2 + static_cast<std::uint32_t>(random.Below(2)));
    spec.mutable_base()->mutable_training()->set_batch_size(48);
    if (resources.has_memory_mib()) resources.set_memory_mib(500);  // On the largest machine they fit.
    if (!CheckedGrid(spec).ok()) resources.clear_processes();       // It draws its batch sizes.
    world_.Count("sweeps of several processes", resources.has_processes() ? 1 : 0);
  }
  if (random.PerMille(300)) {
    v1::LimitsSpec& limits = *spec.mutable_limits();
    const auto hours = [&random](int from, int to) { return (from + random.Below(to - from)) / 3600.0; };
    if (random.PerMille(600)) limits.set_attempt_hours(hours(5, 60));
    if (random.PerMille(300)) limits.set_trial_hours(hours(20, 200));
    if (random.PerMille(300)) limits.set_sweep_hours(hours(30, 600));
    if (random.PerMille(300)) limits.set_gpu_hours(hours(5, 100));
  }
  if (random.PerMille(400)) {
    spec.set_preempts(true);
    spec.set_priority(spec.priority() + 1);
  }
  v1::SubmitSweepRequest request;
  request.set_request_id(absl::StrCat("request", submitted_++));
  *request.mutable_sweep() = std::move(spec);
  const Caller caller = Somebody();
  world_.Note(absl::StrCat("people submit ", request.request_id()));
  Ask<v1::SubmitSweepResponse>(
      [this, request, caller](CoordinatorProcess::Reply<v1::SubmitSweepResponse> reply) {
        coordinator_.Submit(request, caller, std::move(reply));
      },
      [this, request, caller](const v1::SubmitSweepResponse& response) {
        oracle_.AnswerLeaves(request.request_id(), response.SerializeAsString());
        oracle_.SubmitAnswered(request, caller, response);
      });
}

std::string People::SomeSweep() {
  const auto& sweeps = oracle_.sweeps();
  if (sweeps.empty()) return "";
  const int index = world_.random().Below(static_cast<int>(sweeps.size()));
  return SweepId(std::next(sweeps.begin(), index)->first).ToString();
}

std::string People::SomeTrial() {
  const std::vector<std::string> trials = oracle_.trial_ids();
  return trials.empty()
             ? ""
             : trials[static_cast<std::size_t>(world_.random().Below(static_cast<int>(trials.size())))];
}

std::string People::SomeRequestId(int per_mille) {
  return world_.random().PerMille(per_mille) ? absl::StrCat("other", requests_++) : "";
}

void People::CancelSweep() {
  v1::CancelRequest request;
  request.set_sweep(SomeSweep());
  if (request.sweep().empty()) return;
  if (const std::string id = SomeRequestId(500); !id.empty()) request.set_request_id(id);
  const Caller caller = SomebodyFor(request.sweep());
  world_.Note(absl::StrCat("people cancel ", request.sweep()));
  Ask<v1::CancelResponse>(
      [this, request, caller](CoordinatorProcess::Reply<v1::CancelResponse> reply) {
        // Other requests may open it again before the answer leaves.
        const auto asked = std::make_shared<std::optional<std::uint64_t>>();
        coordinator_.Decide<v1::CancelResponse>(
            [&](Orchestrator& o, Moment now, Effects& effects) {
              absl::StatusOr<v1::CancelResponse> response =
                  o.Change(&inlier::Cancel, request, now, effects, caller);
              oracle_.AnswerDecided(caller, request, response.status());
              if (request.request_id().empty() || Oracle::Remembers(effects, request.request_id()))
                *asked = oracle_.Asked(request.sweep());
              return response;
            },
            [this, request, asked, reply = std::move(reply)](absl::StatusOr<v1::CancelResponse> response) {
              if (response.ok() && *asked) oracle_.SweepCancelled(request.sweep(), **asked);
              reply(std::move(response));
            });
      },
      [this, request](const v1::CancelResponse& response) {
        oracle_.AnswerLeaves(request.request_id(), response.SerializeAsString());
      });
}

void People::CancelTrial() {
  v1::CancelRequest request;
  request.set_trial(SomeTrial());
  if (request.trial().empty()) return;
  if (const std::string id = SomeRequestId(500); !id.empty()) request.set_request_id(id);
  world_.Note(absl::StrCat("people cancel ", request.trial()));
  AskOnce<v1::CancelRequest, v1::CancelResponse>(request, SomebodyFor(request.trial()), &inlier::Cancel,
                                                 nullptr, nullptr);
}

namespace {

v1::RetryRequest RetryOf(const std::string& sweep, const std::string& trial) {
  v1::RetryRequest request;
  if (!sweep.empty()) request.set_sweep(sweep);
  if (!trial.empty()) request.set_trial(trial);
  return request;
}

}  // namespace

void People::RetrySweep() {
  const std::string sweep = SomeSweep();
  if (!sweep.empty()) Retry(RetryOf(sweep, ""));
}

void People::RetryTrial() {
  const std::string trial = SomeTrial();
  if (!trial.empty()) Retry(RetryOf("", trial));
}

void People::Retry(v1::RetryRequest request) {
  if (const std::string id = SomeRequestId(500); !id.empty()) request.set_request_id(id);
  const Caller caller = SomebodyFor(request.has_trial() ? request.trial() : request.sweep());
  world_.Note(absl::StrCat("people retry ", request.sweep(), request.trial()));
  Ask<v1::RetryResponse>(
      [this, request, caller](CoordinatorProcess::Reply<v1::RetryResponse> reply) {
        oracle_.RetryArrives(request);
        coordinator_.Decide<v1::RetryResponse>(
            [&](Orchestrator& o, Moment now, Effects& effects) {
              absl::StatusOr<v1::RetryResponse> response =
                  o.Change(&inlier::Retry, request, now, effects, caller);
              oracle_.AnswerDecided(caller, request, response.status());
              return response;
            },
            std::move(reply));
      },
      [this, request](const v1::RetryResponse& response) {
        oracle_.AnswerLeaves(request.request_id(), response.SerializeAsString());
      });
}

void People::Look() {
  Ask<v1::ListSweepsResponse>(
      [this](CoordinatorProcess::Reply<v1::ListSweepsResponse> reply) {
        coordinator_.Show<v1::ListSweepsResponse>(
            [this](const Orchestrator& o) { return *ListSweeps(o.state(), {}, world_.now()); },
            std::move(reply));
      },
      [this](const v1::ListSweepsResponse& seen) {
        for (const v1::SweepStatus& status : seen.sweeps()) oracle_.SweepShown(status);
      });
}

}  // namespace inlier
