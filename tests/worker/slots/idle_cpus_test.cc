#include "worker/slots/idle_cpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr Duration kIdle = std::chrono::milliseconds(20);

// Slots of one CPU each: slot i has CPU 10 + i.
class IdleCpusTest : public testing::Test {
 protected:
  static std::vector<SlotPlan> Slots(int count) {
    std::vector<SlotPlan> slots(count);
    for (int i = 0; i < count; ++i) {
      slots[i].index = i;
      slots[i].cpus = {10 + i};
    }
    return slots;
  }
  IdleCpus Make(const std::vector<SlotPlan>& slots) {
    return IdleCpus(
        io_, slots, [this](std::uint32_t slot, const std::vector<int>& cpus) { bound_[slot] = cpus; }, kIdle);
  }
  void StartTraining(IdleCpus& cpus, std::uint32_t slot) {
    cpus.AttemptStarts(slot);
    cpus.TrainingRuns(slot);
  }
  // Runs what is due until nothing waits any more.
  void Settle() {
    io_.restart();
    io_.run();
  }

  boost::asio::io_context io_;
  std::map<std::uint32_t, std::vector<int>> bound_;
};

TEST_F(IdleCpusTest, ATrainingAloneGetsTheCpusOfAllOtherSlotsAfterAWhile) {
  IdleCpus cpus = Make(Slots(3));
  StartTraining(cpus, 1);
  EXPECT_THAT(bound_, IsEmpty());
  const Timestamp began = MonotonicNow();
  Settle();
  EXPECT_GE(MonotonicNow() - began, kIdle - std::chrono::milliseconds(1));
  EXPECT_THAT(bound_, ElementsAre(Pair(1, ElementsAre(11, 10, 12))));
}

TEST_F(IdleCpusTest, AnAttemptTakesItsCpusBackAtOnce) {
  IdleCpus cpus = Make(Slots(2));
  StartTraining(cpus, 0);
  Settle();
  ASSERT_THAT(bound_[0], ElementsAre(10, 11));
  cpus.AttemptStarts(1);
  EXPECT_THAT(bound_[0], ElementsAre(10));
  cpus.AttemptEnded(1);
  EXPECT_THAT(bound_[0], ElementsAre(10));  // The next attempt may be on its way.
  Settle();
  EXPECT_THAT(bound_[0], ElementsAre(10, 11));
}

TEST_F(IdleCpusTest, OnlyTrainingsThatAreReadyBorrow) {
  IdleCpus cpus = Make(Slots(3));
  cpus.AttemptStarts(0);  // An evaluation, or a training that still starts.
  Settle();
  EXPECT_THAT(bound_, IsEmpty());
  StartTraining(cpus, 2);
  Settle();
  EXPECT_THAT(bound_, ElementsAre(Pair(2, ElementsAre(12, 11))));
}

TEST_F(IdleCpusTest, TrainingsShareEvenlyAndALaterOneGetsItsPart) {
  IdleCpus cpus = Make(Slots(6));
  StartTraining(cpus, 0);
  Settle();
  EXPECT_THAT(bound_[0], ElementsAre(10, 11, 12, 13, 14, 15));
  StartTraining(cpus, 3);
  EXPECT_THAT(bound_[0], ElementsAre(10, 11, 14));
  EXPECT_THAT(bound_[3], ElementsAre(13, 12, 15));
}

TEST_F(IdleCpusTest, TheNextTrainingOfASlotIsBoundAnew) {
  IdleCpus cpus = Make(Slots(2));
  StartTraining(cpus, 0);
  Settle();
  cpus.AttemptEnded(0);
  bound_.clear();
  StartTraining(cpus, 0);  // A new process, bound to its own CPUs.
  EXPECT_THAT(bound_, ElementsAre(Pair(0, ElementsAre(10, 11))));
}

TEST_F(IdleCpusTest, SlotsThatShareAllCpusLendNothing) {
  std::vector<SlotPlan> slots = Slots(2);
  for (SlotPlan& slot : slots) slot.cpus.clear();
  IdleCpus cpus = Make(slots);
  StartTraining(cpus, 0);
  Settle();
  EXPECT_THAT(bound_, IsEmpty());
}

TEST_F(IdleCpusTest, MayGoWhileATimerRuns) {
  {
    IdleCpus cpus = Make(Slots(2));
    StartTraining(cpus, 0);
  }
  Settle();
  EXPECT_THAT(bound_, IsEmpty());
}

}  // namespace
}  // namespace inlier
