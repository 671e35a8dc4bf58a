// Who runs a call, and that no two run at once.
#include "coordinator/services/turn.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TurnTest : public ::testing::Test {
 protected:
  boost::asio::io_context io_;
  Turn turn_{io_};
  std::vector<int> ran_;
};

TEST_F(TurnTest, NobodyBeforeItACallRunsAtOnce) {
  turn_.Run([this] { ran_.push_back(1); });
  EXPECT_THAT(ran_, ElementsAre(1));
  EXPECT_EQ(io_.poll(), 0u);
}

TEST_F(TurnTest, WhatIsPostedRunsOnTheOtherThreadAndRunDoesNotOvertakeIt) {
  turn_.Post([this] { ran_.push_back(1); });
  turn_.Run([this] { ran_.push_back(2); });
  EXPECT_THAT(ran_, IsEmpty());
  io_.run();
  EXPECT_THAT(ran_, ElementsAre(1, 2));
  turn_.Run([this] { ran_.push_back(3); });
  EXPECT_THAT(ran_, ElementsAre(1, 2, 3));
}

TEST_F(TurnTest, CallFoundBusyWaitsAndItsThreadDoesNot) {
  turn_.Take([this] {
    std::thread([this] { turn_.Run([this] { ran_.push_back(2); }); }).join();
    ran_.push_back(1);
  });
  EXPECT_THAT(ran_, ElementsAre(1));
  io_.run();
  EXPECT_THAT(ran_, ElementsAre(1, 2));
}

TEST_F(TurnTest, CallMayPostAnother) {
  turn_.Run([this] {
    turn_.Post([this] { ran_.push_back(2); });
    ran_.push_back(1);
  });
  io_.run();
  EXPECT_THAT(ran_, ElementsAre(1, 2));
}

TEST_F(TurnTest, WhatPeopleAskForAndWhatWaitsAlternate) {
  turn_.RunSoon([this] {
    for (int i = 1; i <= 3; ++i) turn_.Post([this, i] { ran_.push_back(i); });
    for (int i = 11; i <= 14; ++i) turn_.RunSoon([this, i] { ran_.push_back(i); });
    ran_.push_back(0);
  });
  EXPECT_THAT(ran_, ElementsAre(0));
  io_.run();
  EXPECT_THAT(ran_, ElementsAre(0, 11, 1, 12, 2, 13, 3, 14));
}

// Who answers after it has decided does not keep others from deciding.
TEST_F(TurnTest, WhatIsLeftForLaterRunsOnTheSameThreadWithTheTurnFree) {
  std::vector<std::thread::id> threads;
  const auto call = [&] {
    for (const int number : {2, 3}) {
      turn_.AfterRelease([&, number] {
        threads.push_back(std::this_thread::get_id());
        std::thread([&, number] { turn_.Run([this, number] { ran_.push_back(number); }); }).join();
      });
    }
    ran_.push_back(1);
  };
  turn_.Run(call);
  turn_.Take(call);
  EXPECT_THAT(ran_, ElementsAre(1, 2, 3, 1, 2, 3));
  turn_.Post(call);
  io_.run();
  EXPECT_THAT(ran_, ElementsAre(1, 2, 3, 1, 2, 3, 1, 2, 3));
  EXPECT_THAT(threads, ::testing::AllOf(::testing::SizeIs(6), ::testing::Each(std::this_thread::get_id())));
}

TEST_F(TurnTest, TakeReturnsWhatTheCallReturns) {
  EXPECT_EQ(turn_.Take([] { return 7; }), 7);
}

TEST_F(TurnTest, NoTwoCallsRunAtOnceAndNoneIsLost) {
  constexpr int kCalls = 20'000;
  int inside = 0, ran = 0, together = 0;  // Guarded by the turn alone.
  const auto call = [&] {
    if (++inside != 1) ++together;
    ++ran;
    --inside;
  };
  auto work = boost::asio::make_work_guard(io_);
  std::thread runner([this] { io_.run(); });
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < kCalls; ++k) {
        if (i == 0) {
          turn_.Post(call);
        } else if (i == 1 && k % 2 == 0) {
          turn_.RunSoon(call);
        } else if (i == 1) {
          turn_.Take(call);
        } else {
          turn_.Run(call);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  work.reset();
  runner.join();
  EXPECT_EQ(ran, 3 * kCalls);
  EXPECT_EQ(together, 0);
}

}  // namespace
}  // namespace inlier
