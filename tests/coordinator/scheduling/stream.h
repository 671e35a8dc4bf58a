// Workers of the tests that listen on a stream, and what is pushed to them.
#ifndef INLIER_TESTS_COORDINATOR_SCHEDULING_STREAM_H_
#define INLIER_TESTS_COORDINATOR_SCHEDULING_STREAM_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "tests/coordinator/harness.h"

namespace inlier {

// Syncs by stream, and listens when it has been answered.
inline v1::CoordinatorSync SyncByStream(Harness& harness, HandWorker& worker) {
  const v1::CoordinatorSync reply = harness.Sync(worker, {.by_stream = true});
  harness.orchestrator().SetListening(worker.fields().incarnation(), true);
  return reply;
}

// Commits the current pushes and returns them by incarnation.
inline std::map<std::string, v1::CoordinatorSync> Offer(Harness& harness, bool grant_leases = true) {
  Effects effects;
  harness.orchestrator().Offer(harness.now(), grant_leases, effects);
  std::map<std::string, v1::CoordinatorSync> pushes = effects.pushes;
  harness.Commit(std::move(effects));
  return pushes;
}

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_SCHEDULING_STREAM_H_
