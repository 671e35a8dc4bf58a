// The ranks of a gang as threads of the test.
#ifndef INLIER_TESTS_CORE_GANG_RANKS_H_
#define INLIER_TESTS_CORE_GANG_RANKS_H_

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "core/gang/gang.h"
#include "tests/support/temporary_folder.h"

namespace inlier {

// Calls run(Gang) on a thread for each rank, and waits for all.
template <typename Run>
void RunRanks(int processes, const Run& run) {
  const TemporaryFolder folder;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < processes; ++rank) {
    ranks.emplace_back([&, rank] {
      at::set_num_threads(1);
      auto gang = Gang::Meet({.rank = rank, .processes = processes, .meeting = folder / "meeting"},
                             std::chrono::minutes(2));
      ASSERT_TRUE(gang.ok()) << gang.status();
      run(*std::move(gang));
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_GANG_RANKS_H_
