// People and their programs: they submit, cancel, retry and look, and repeat it until they get an answer,
// with the same request id. Every answer is given to the oracle.
//
// Each action of people is one line of kActions in people.cc; pausing, editing and draining are in
// people_control.cc. Most requests have an id, and may come twice. Where callers are checked there are two people and
// an admin, and some try to change what another owns.
#ifndef INLIER_TESTS_SIMULATION_PEOPLE_H_
#define INLIER_TESTS_SIMULATION_PEOPLE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/removal/removal.h"
#include "coordinator/sweeps/control.h"
#include "coordinator/sweeps/edit.h"
#include "tests/simulation/coordinator_process.h"
#include "tests/simulation/network.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/world.h"

namespace inlier {

class People {
 public:
  static constexpr int kSweepsMax = 10;

  People(World& world, Oracle& oracle, CoordinatorProcess& coordinator, bool checked)
      : world_(world), oracle_(oracle), coordinator_(coordinator), checked_(checked), link_(world) {}

  void Act();
  void Submit();
  void CancelSweep();
  void CancelTrial();
  void RetrySweep();
  void RetryTrial();
  void Look();
  void Pause();
  void Resume();
  void Edit();
  void Drain();
  void Extend();
  // Only in a world with removals.
  void Remove();
  void Restore();
  void Free();
  // Undoes what would keep things from ending: pauses, the drains of `workers` (incarnations), and points that are not asked for.
  void LetGo(const std::vector<std::string>& workers);

  Link& link() { return link_; }
  int submitted() const { return submitted_; }
  // Requests that have no answer yet.
  int waiting() const { return waiting_; }

 private:
  // Sends `call` until `answered` has run, or patience ends. `call` gets the function that sends the reply.
  template <typename Response>
  void Ask(std::function<void(CoordinatorProcess::Reply<Response>)> call,
           std::function<void(const Response&)> answered);
  template <typename Response>
  struct Question;
  template <typename Response>
  void Send(std::shared_ptr<Question<Response>> question);

  // One whose answer is the same as often as it is asked: `decide` gives it, and receives whether it did so
  // now.
  template <typename Request, typename Response>
  void AskOnce(const Request& request, const Caller& caller,
               absl::StatusOr<Response> (*change)(Context&, const Request&, const Caller&),
               std::function<void(const Response&)> decided, std::function<void(const Response&)> answered);
  // Who submits; who asks for a change of this sweep or trial: its owner mostly.
  Caller Somebody();
  Caller SomebodyFor(const std::string& name);
  static Caller Admin();
  // A fresh request id, or none.
  std::string SomeRequestId(int per_mille = 1000);

  void Retry(v1::RetryRequest request);
  void ResumeSweep(const std::string& sweep, const Caller& caller);
  void ExtendSweep(const std::string& sweep, const Caller& caller);
  void Hold(const std::string& worker, bool resume, bool now);
  std::string SomeSweep();
  std::string SomeTrial();

  World& world_;
  Oracle& oracle_;
  CoordinatorProcess& coordinator_;
  const bool checked_;
  Link link_;
  int submitted_ = 0;
  int waiting_ = 0;
  int requests_ = 0;
};

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
          question->answered(*response);  // An answer that leaves is a promise, even if it is lost.
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
  world_.After(world_.random().Between(std::chrono::seconds(1), std::chrono::seconds(8)),
               [this, question] { Send(question); });
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

template <typename Request, typename Response>
void People::AskOnce(const Request& request, const Caller& caller,
                     absl::StatusOr<Response> (*change)(Context&, const Request&, const Caller&),
                     std::function<void(const Response&)> decided,
                     std::function<void(const Response&)> answered) {
  Ask<Response>(
      [this, request, caller, change,
       decided = std::move(decided)](CoordinatorProcess::Reply<Response> reply) {
        coordinator_.Decide<Response>(
            [&](Orchestrator& orchestrator, Moment now, Effects& effects) {
              absl::StatusOr<Response> response = orchestrator.Change(change, request, now, effects, caller);
              oracle_.AnswerDecided(caller, request, response.status());
              const bool is_new =
                  request.request_id().empty() || Oracle::Remembers(effects, request.request_id());
              if (response.ok() && is_new && decided) decided(*response);
              return response;
            },
            std::move(reply));
      },
      [this, request, answered = std::move(answered)](const Response& response) {
        oracle_.AnswerLeaves(request.request_id(), response.SerializeAsString());
        if (answered) answered(response);
      });
}

}  // namespace inlier

#endif  // INLIER_TESTS_SIMULATION_PEOPLE_H_
