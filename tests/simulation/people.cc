#include "tests/simulation/people.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/coordinator/orchestration/harness.h"

namespace inlier {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Action {
  int weight;
  void (People::*run)();
};

// Further actions of people (pause, resume, edit, preempt, ...) go here.
constexpr Action kActions[] = {
    {30, &People::Submit},     {8, &People::CancelSweep}, {10, &People::CancelTrial},
    {12, &People::RetrySweep}, {10, &People::RetryTrial}, {20, &People::Look},
};

}  // namespace

template <typename Response>
struct People::Question {
  std::function<void(CoordinatorProcess::Reply<Response>)> call;
  std::function<void(const Response&)> answered;
  bool over = false;
};

template <typename Response>
void People::Send(std::shared_ptr<Question<Response>> question) {
  if (question->over) return;
  link_.Send(Link::Way::kRequest, /*ordered=*/false, [this, question] {
    const auto arrive = [this, question] {
      if (!coordinator_.up()) return;
      question->call([this, question](absl::StatusOr<Response> response) {
        const bool passing =
            absl::IsUnavailable(response.status()) || absl::IsResourceExhausted(response.status());
        if (passing) return;
        if (response.ok()) {
          world_.Trace(response->SerializeAsString());
          question->answered(*response);  // What leaves is a promise, whether it arrives or not.
        }
        link_.Send(Link::Way::kReply, /*ordered=*/false, [this, question] {
          if (!question->over) --waiting_;
          question->over = true;
        });
      });
    };
    if (coordinator_.stalled_until() > world_.now()) {
      world_.At(coordinator_.stalled_until(), arrive);
    } else {
      arrive();
    }
  });
  world_.After(world_.random().Between(seconds(1), seconds(8)), [this, question] { Send(question); });
}

template <typename Response>
void People::Ask(std::function<void(CoordinatorProcess::Reply<Response>)> call,
                 std::function<void(const Response&)> answered) {
  ++waiting_;
  auto question = std::make_shared<Question<Response>>();
  question->call = std::move(call);
  question->answered = std::move(answered);
  Send(std::move(question));
}

void People::Act() {
  int total = 0;
  for (const Action& action : kActions) total += action.weight;
  int what = world_.random().Below(total);
  for (const Action& action : kActions) {
    if (what < action.weight) return (this->*action.run)();
    what -= action.weight;
  }
}

void People::Submit() {
  if (submitted_ >= kSweepsMax) return;
  Random& random = world_.random();
  // Few different trainings, so that sweeps share stages.
  v1::SweepSpec spec = SmallSweep(absl::StrCat("sweep", submitted_), 1 + random.Below(3),
                                  random.PerMille(600) ? std::vector<double>{8} : std::vector<double>{8, 6});
  spec.mutable_base()->mutable_training()->set_steps(100 + static_cast<std::uint32_t>(random.Below(3)));
  spec.set_priority(random.Below(3));
  if (random.PerMille(400)) spec.set_max_parallel(1 + static_cast<std::uint32_t>(random.Below(2)));
  if (random.PerMille(250)) spec.set_stop_after_failures(1 + static_cast<std::uint32_t>(random.Below(2)));
  if (random.PerMille(500))
    spec.mutable_retry()->set_max_losses(1 + static_cast<std::uint32_t>(random.Below(3)));
  if (random.PerMille(500))
    spec.mutable_retry()->set_max_crashes(1 + static_cast<std::uint32_t>(random.Below(3)));
  if (random.PerMille(300)) {
    // What every machine has; with more of it two attempts do not fit beside each other.
    spec.mutable_resources()->set_memory_mib(500 + 500 * static_cast<std::uint32_t>(random.Below(4)));
    if (random.PerMille(500)) spec.mutable_resources()->set_gpu(0.3 + 0.35 * random.Below(3));
  }
  if (random.PerMille(400)) {
    spec.set_preempts(true);
    spec.set_priority(spec.priority() + 1);
  }
  v1::SubmitSweepRequest request;
  request.set_request_id(absl::StrCat("request", submitted_++));
  *request.mutable_sweep() = std::move(spec);
  world_.Note(absl::StrCat("people submit ", request.request_id()));
  Ask<v1::SubmitSweepResponse>(
      [this, request](CoordinatorProcess::Reply<v1::SubmitSweepResponse> reply) {
        coordinator_.Submit(request, std::move(reply));
      },
      [this, request](const v1::SubmitSweepResponse& response) {
        oracle_.SubmitAnswered(request, response);
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

void People::CancelSweep() {
  v1::CancelRequest request;
  request.set_sweep(SomeSweep());
  if (request.sweep().empty()) return;
  world_.Note(absl::StrCat("people cancel ", request.sweep()));
  Ask<v1::CancelResponse>(
      [this, request](CoordinatorProcess::Reply<v1::CancelResponse> reply) {
        const std::uint64_t retries = oracle_.Retries(request.sweep());
        coordinator_.Decide<v1::CancelResponse>(
            [&](Orchestrator& o, Moment now, Effects& effects) { return o.OnCancel(request, now, effects); },
            [this, request, retries, reply = std::move(reply)](absl::StatusOr<v1::CancelResponse> response) {
              if (response.ok()) oracle_.SweepCancelled(request.sweep(), retries);
              reply(std::move(response));
            });
      },
      [](const v1::CancelResponse&) {});
}

void People::CancelTrial() {
  v1::CancelRequest request;
  request.set_trial(SomeTrial());
  if (request.trial().empty()) return;
  world_.Note(absl::StrCat("people cancel ", request.trial()));
  Ask<v1::CancelResponse>(
      [this, request](CoordinatorProcess::Reply<v1::CancelResponse> reply) {
        coordinator_.Decide<v1::CancelResponse>(
            [&](Orchestrator& o, Moment now, Effects& effects) { return o.OnCancel(request, now, effects); },
            std::move(reply));
      },
      [](const v1::CancelResponse&) {});
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

void People::Retry(const v1::RetryRequest& request) {
  world_.Note(absl::StrCat("people retry ", request.sweep(), request.trial()));
  Ask<v1::RetryResponse>(
      [this, request](CoordinatorProcess::Reply<v1::RetryResponse> reply) {
        oracle_.RetryArrives(request);
        coordinator_.Decide<v1::RetryResponse>(
            [&](Orchestrator& o, Moment now, Effects& effects) { return o.OnRetry(request, now, effects); },
            std::move(reply));
      },
      [](const v1::RetryResponse&) {});
}

void People::Look() {
  Ask<v1::ListSweepsResponse>(
      [this](CoordinatorProcess::Reply<v1::ListSweepsResponse> reply) {
        coordinator_.Show<v1::ListSweepsResponse>([](const Orchestrator& o) { return o.ListSweeps(); },
                                                  std::move(reply));
      },
      [this](const v1::ListSweepsResponse& seen) {
        for (const v1::SweepStatus& status : seen.sweeps()) oracle_.SweepShown(status);
      });
}

}  // namespace inlier
