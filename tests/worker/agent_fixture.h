// An agent against a fake coordinator, with real children (fake_trial), in a state folder of its own.
#ifndef INLIER_TESTS_WORKER_AGENT_FIXTURE_H_
#define INLIER_TESTS_WORKER_AGENT_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/worker/worker_rig.h"

namespace inlier {

class AgentTest : public testing::Test {
 protected:
  void StartCoordinator(FakeCoordinator::Settings settings = {}) {
    coordinator_ = std::make_unique<FakeCoordinator>(settings);
  }
  WorkerRig& StartWorker(RigSettings settings = {}) {
    if (!coordinator_) StartCoordinator();
    rig_ = std::make_unique<WorkerRig>(folder_.path(), coordinator_->address(), settings);
    return *rig_;
  }
  // Runs one attempt with `behaviour` to its outcome.
  v1::Outcome RunOne(const std::string& behaviour, v1::Assignment assignment = TrainAssignment(1),
                     RigSettings settings = {}) {
    StartWorker(settings).SetBehaviour(behaviour);
    return coordinator_->Run(assignment);
  }
  // Assigns and waits until the child's first log line has arrived: it runs.
  void AssignAndWaitForLog(const v1::Assignment& assignment) {
    coordinator_->Assign(assignment);
    const bool runs = coordinator_->WaitFor([&](const FakeCoordinator::State& state) {
      for (const v1::TrialEvent& event : state.EventsOf(assignment.token())) {
        if (event.has_log()) return true;
      }
      return false;
    });
    ASSERT_TRUE(runs);
  }

  TemporaryFolder folder_;
  std::unique_ptr<FakeCoordinator> coordinator_;
  std::unique_ptr<WorkerRig> rig_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_WORKER_AGENT_FIXTURE_H_
