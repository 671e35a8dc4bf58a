// A coordinator that only shows the stored state: it decides nothing, however long it runs.
#include <chrono>
#include <thread>

#include "tests/coordinator/services/fixture.h"

namespace inlier {
namespace {

class ShowTest : public CoordinatorTest {
 protected:
  // Runs until the attempts of two syncs are leased, and stops. The worker does not come back.
  void LeaveTwoAttempts() {
    Submit(SmallSweep("left", 3));
    HandWorker worker = MakeWorker("w", 2);
    Sync(worker);
    Sync(worker);
    ASSERT_EQ(worker.running().size(), 2u);
    coordinator_.reset();
  }
  void Start(Coordinator::Mode mode) {
    v1::CoordinatorConfig config = Config();
    config.set_lease_ttl_ms(200);
    StartCoordinator(config, mode);
    // Longer than the lease and its margin.
    std::this_thread::sleep_for(std::chrono::milliseconds(200 + config.lease_margin_ms() + 500));
  }
};

TEST_F(ShowTest, ALeaseDoesNotEndWhereTheStateIsOnlyShown) {
  LeaveTwoAttempts();
  Start(Coordinator::Mode::kShow);
  EXPECT_EQ(GetSweep("left").trials().running(), 2u);
  coordinator_.reset();
  // The same database, recovered to run: the leases end.
  Start(Coordinator::Mode::kRun);
  EXPECT_EQ(GetSweep("left").trials().running(), 0u);
}

}  // namespace
}  // namespace inlier
