// People and their programs: they submit, cancel, retry and look, and say it again until they get an answer,
// with the same request id. Whatever was answered is told to the oracle.
//
// What people can do is one line each of kActions in people.cc.
#ifndef INLIER_TESTS_SIMULATION_PEOPLE_H_
#define INLIER_TESTS_SIMULATION_PEOPLE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/coordinator_process.h"
#include "tests/simulation/network.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/world.h"

namespace inlier {

class People {
 public:
  static constexpr int kSweepsMax = 10;

  People(World& world, Oracle& oracle, CoordinatorProcess& coordinator)
      : world_(world), oracle_(oracle), coordinator_(coordinator), link_(world) {}

  void Act();
  void Submit();
  void CancelSweep();
  void CancelTrial();
  void RetrySweep();
  void RetryTrial();
  void Look();

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

  void Retry(const v1::RetryRequest& request);
  std::string SomeSweep();
  std::string SomeTrial();

  World& world_;
  Oracle& oracle_;
  CoordinatorProcess& coordinator_;
  Link link_;
  int submitted_ = 0;
  int waiting_ = 0;
};

}  // namespace inlier

#endif  // INLIER_TESTS_SIMULATION_PEOPLE_H_
