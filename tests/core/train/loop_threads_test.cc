#include "core/train/loop_threads.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

#include "core/layer_cpu/parallel.h"

namespace inlier {
namespace {

// Adds updates of seconds_of(threads) until the choice stays; the number of them.
template <typename SecondsOf>
int Settle(ThreadChoice& choice, const SecondsOf& seconds_of) {
  int updates = 0, unchanged = 0;
  for (; unchanged < 100; ++updates) {
    const int before = choice.threads();
    choice.Add(seconds_of(before));
    unchanged = choice.threads() == before ? unchanged + 1 : 0;
  }
  return updates - unchanged;
}

TEST(ThreadChoiceTest, TakesAllWhereMoreAreFaster) {
  ThreadChoice choice(1, 6);
  EXPECT_EQ(choice.threads(), 6);
  EXPECT_LT(Settle(choice, [](int threads) { return 1.0 / threads; }), 20);
  EXPECT_EQ(choice.threads(), 6);
}

TEST(ThreadChoiceTest, GoesDownAsLongAsFewerAreFaster) {
  ThreadChoice choice(1, 64);
  Settle(choice, [](int threads) { return 1.0 / threads + 0.02 * threads; });  // 8: 0.285; 16: 0.38; 4: 0.33
  EXPECT_EQ(choice.threads(), 8);
  ThreadChoice alone(1, 64);
  Settle(alone, [](int threads) { return threads; });
  EXPECT_EQ(alone.threads(), 1);
  ThreadChoice two(2, 7);
  Settle(two, [](int threads) { return threads; });
  EXPECT_EQ(two.threads(), 2);
}

TEST(ThreadChoiceTest, OneSlowUpdateDoesNotDecide) {
  ThreadChoice choice(1, 2);
  int updates = 0;
  Settle(choice, [&updates](int threads) { return ++updates == 3 ? 50.0 : 1.0 / threads; });
  EXPECT_EQ(choice.threads(), 2);
}

// Updates until the choice has `threads`, at most 10,000.
template <typename SecondsOf>
int UntilThreads(ThreadChoice& choice, int threads, const SecondsOf& seconds_of) {
  int updates = 0;
  for (; choice.threads() != threads && updates < 10'000; ++updates) choice.Add(seconds_of(choice.threads()));
  return updates;
}

TEST(ThreadChoiceTest, FollowsALoadThatComesAndGoes) {
  const auto alone = [](int threads) { return 1.0 / threads; };
  const auto beside_another = [](int threads) { return threads == 1 ? 1.0 : 3.0; };
  ThreadChoice choice(1, 2);
  Settle(choice, alone);
  for (int time = 0; time < 3; ++time) {
    EXPECT_LT(UntilThreads(choice, 1, beside_another), 200);
    Settle(choice, beside_another);
    EXPECT_EQ(choice.threads(), 1);
    EXPECT_LT(UntilThreads(choice, 2, alone), 3000);
    Settle(choice, alone);
    EXPECT_EQ(choice.threads(), 2);
  }
}

TEST(ThreadChoiceTest, TryingAgainTakesThreePerCentOfTheTimeAtMost) {
  for (const double with_two : {0.6, 3.0}) {
    ThreadChoice choice(1, 2);
    double taken = 0, best = 0;
    for (int update = 0; update < 20'000; ++update) {
      const double seconds = choice.threads() == 2 ? with_two : 1.0;
      choice.Add(seconds);
      taken += seconds;
      best += std::min(with_two, 1.0);
    }
    EXPECT_LT(taken, 1.03 * best) << with_two;
  }
}

// Threads that the loops of the fused engine really run on.
std::size_t ThreadsOfALoop() {
  std::mutex mutex;
  std::set<std::thread::id> ids;
  layer::cpu::ParallelFor(1000, [&](std::int64_t) {
    std::this_thread::yield();
    const std::scoped_lock lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  return ids.size();
}

TEST(LoopThreadsTest, TheLoopsFollowTheCpusOfTheProcessAndLibTorchKeepsItsThreads) {
  cpu_set_t all, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(all), &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "needs two CPUs";
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  ::sched_setaffinity(0, sizeof(one), &one);
  at::set_num_threads(1);
  LoopThreads lent;
  lent.OnUpdate(1);
  EXPECT_EQ(ThreadsOfALoop(), 1u);

  ::sched_setaffinity(0, sizeof(all), &all);
  lent.OnUpdate(1);
  EXPECT_EQ(ThreadsOfALoop(), static_cast<std::size_t>(CPU_COUNT(&all)));
  EXPECT_EQ(at::get_num_threads(), 1);

  ::sched_setaffinity(0, sizeof(one), &one);
  lent.OnUpdate(1);
  EXPECT_EQ(ThreadsOfALoop(), 1u);
  ::sched_setaffinity(0, sizeof(all), &all);
}

}  // namespace
}  // namespace inlier
