// Digests that the coordinator asks a worker for.
#include "worker/data_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/digest.h"
#include "tests/worker/worker_rig.h"

namespace inlier {
namespace {

using testing::HasSubstr;
using State = FakeCoordinator::State;

v1::DataCheck Check(std::uint64_t token) {
  v1::DataCheck check;
  check.set_token(token);
  v1::TrialSpec source;
  source.mutable_data()->mutable_text()->set_corpus("kjv");
  check.set_source(source.SerializeAsString());
  return check;
}

class DataCheckerTest : public testing::Test {
 protected:
  void SetData(const std::string& data) {
    std::filesystem::create_directories(folder_.path() / "data");
    std::ofstream(folder_.path() / "data" / "fake_trial.data") << data;
  }
  // Waits for the answer that the last sync has to the check `token`.
  v1::DataChecked Answer(std::uint64_t token) {
    v1::DataChecked answer;
    EXPECT_TRUE(coordinator_.WaitFor([&](const State& state) {
      const v1::WorkerSync last = state.last();
      for (const v1::DataChecked& checked : last.data_checked()) {
        if (checked.token() == token) answer = checked;
      }
      return answer.has_token();
    }));
    return answer;
  }

  TemporaryFolder folder_;
  FakeCoordinator coordinator_{{}};
};

TEST_F(DataCheckerTest, AnswersStayUntilTheyAreNotWantedAndAreFoundOnce) {
  SetData("old");
  WorkerRig rig(folder_.path(), coordinator_.address());
  coordinator_.CheckData({Check(5), Check(6)});
  EXPECT_EQ(Answer(5).digest(), Sha256Hex("old"));
  EXPECT_EQ(Answer(6).digest(), Sha256Hex("old"));
  SetData("new");
  coordinator_.CheckData({Check(6), Check(7)});
  EXPECT_EQ(Answer(7).digest(), Sha256Hex("new"));
  EXPECT_EQ(Answer(6).digest(), Sha256Hex("old"));
  coordinator_.CheckData({});
  EXPECT_TRUE(coordinator_.WaitFor([](const State& state) { return state.last().data_checked_size() == 0; }));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "data_checks" / "5"));
}

TEST_F(DataCheckerTest, AMissingProgramIsNoProblemOfTheDataAndTheCheckWaitsForIt) {
  SetData("here");
  const std::filesystem::path program = folder_.path() / "the-trial";
  WorkerRig rig(folder_.path(), coordinator_.address(), {.trial_program = program.string()});
  coordinator_.CheckData({Check(7)});
  ASSERT_TRUE(coordinator_.WaitFor([](const State& state) { return state.last().has_trouble(); }));
  EXPECT_EQ(coordinator_.state().last().data_checked_size(), 0);
  std::filesystem::copy_file(INLIER_FAKE_TRIAL, program);
  EXPECT_EQ(Answer(7).digest(), Sha256Hex("here"));
}

TEST_F(DataCheckerTest, AProblemIsReportedWithWhatTheProgramSays) {
  SetData("");
  WorkerRig rig(folder_.path(), coordinator_.address());
  coordinator_.CheckData({Check(5)});
  EXPECT_THAT(Answer(5).problem(), HasSubstr("the data are empty"));
}

TEST_F(DataCheckerTest, HowFarALargeFileIsReadGoesWithTheSyncsUntilItsDigestIsThere) {
  SetData("old");
  std::ofstream(folder_.path() / "data" / "fake_trial.reading") << "1 of 2 bytes";
  WorkerRig rig(folder_.path(), coordinator_.address());
  coordinator_.CheckData({Check(5)});
  EXPECT_EQ(Answer(5).digest(), "reading: 1 of 2 bytes");
  std::filesystem::remove(folder_.path() / "data" / "fake_trial.reading");
  EXPECT_TRUE(coordinator_.WaitFor([](const State& state) {
    const v1::WorkerSync last = state.last();
    return last.data_checked_size() == 1 && last.data_checked(0).digest() == Sha256Hex("old");
  }));
}

TEST_F(DataCheckerTest, ChecksNeedNoFreeSlot) {
  SetData("old");
  WorkerRig rig(folder_.path(), coordinator_.address());
  rig.SetBehaviour("hang");
  coordinator_.Assign(TrainAssignment(1));
  EXPECT_TRUE(coordinator_.WaitFor([](const State& state) { return state.last().attempts_size() == 1; }));
  coordinator_.CheckData({Check(5)});
  EXPECT_EQ(Answer(5).digest(), Sha256Hex("old"));
  rig.Abort();
}

}  // namespace
}  // namespace inlier
