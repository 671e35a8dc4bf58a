// What `inlier why` shows of a trial, for the tests of scheduling.
#ifndef INLIER_TESTS_COORDINATOR_SCHEDULING_WHY_H_
#define INLIER_TESTS_COORDINATOR_SCHEDULING_WHY_H_

#include <gtest/gtest.h>

#include <string>

#include "coordinator/status/explain.h"
#include "tests/coordinator/harness.h"

namespace inlier {

inline std::string WhyOf(Harness& harness, const std::string& trial) {
  v1::ExplainRequest request;
  request.set_trial(trial);
  const auto explanation = Explain(harness.orchestrator().state(), request, harness.now());
  EXPECT_TRUE(explanation.ok()) << explanation.status();
  return explanation.ok() ? explanation->DebugString() : "";
}

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_SCHEDULING_WHY_H_
