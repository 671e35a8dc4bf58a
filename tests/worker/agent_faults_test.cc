// Files that have changed on disk, and programs that cannot be started: the worker's reaction to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "absl/strings/match.h"
#include "base/digest.h"
#include "base/files/file.h"
#include "tests/worker/agent_fixture.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using State = FakeCoordinator::State;

class AgentCheckpointTest : public AgentTest {
 protected:
  // The checkpoint that attempt 1 has written after `step` updates, below the state folder.
  std::string Checkpoint(int step) {
    const std::string path = "attempts/train-stage/1/checkpoint-" + std::to_string(step) + ".safetensors";
    fs::create_directories((folder_.path() / path).parent_path());
    std::ofstream(folder_.path() / path) << Content(step);
    return path;
  }
  static std::string Content(int step) { return "fake\nstep " + std::to_string(step) + "\n"; }
  // A training of 6 updates that is to resume from 4, else from 2.
  v1::Assignment Resuming() {
    v1::Assignment assignment = TrainAssignment(2, 6);
    assignment.set_resume_path(Checkpoint(4));
    assignment.set_resume_step(4);
    assignment.set_resume_sha256(Sha256Hex(Content(4)));
    v1::EarlierCheckpoint& earlier = *assignment.add_earlier();
    earlier.set_path(Checkpoint(2));
    earlier.set_sha256(Sha256Hex(Content(2)));
    return assignment;
  }
  v1::Started StartedOf(std::uint64_t token) {
    for (const v1::TrialEvent& event : coordinator_->state().EventsOf(token))
      if (event.has_started()) return event.started();
    return {};
  }
  static void Flip(const fs::path& file) {
    std::string content = *ReadFile(file);
    content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
    std::ofstream(file, std::ios::binary) << content;
  }
  // Every way in which a file may be lost.
  static std::vector<std::pair<std::string, std::function<void(const fs::path&)>>> Damages() {
    return {{"flipped", Flip},
            {"truncated", [](const fs::path& file) { fs::resize_file(file, fs::file_size(file) / 2); }},
            {"empty", [](const fs::path& file) { fs::resize_file(file, 0); }},
            {"longer", [](const fs::path& file) { std::ofstream(file, std::ios::app) << "x"; }},
            {"removed", [](const fs::path& file) { fs::remove(file); }},
            {"a folder", [](const fs::path& file) {
               fs::remove(file);
               fs::create_directory(file);
             }}};
  }
};

TEST_F(AgentCheckpointTest, WhereTheLatestCannotBeUsedTheOneBeforeIsElseTrainingStartsFromTheBeginning) {
  for (const auto& [name, damage] : Damages()) {
    for (const bool both : {false, true}) {
      SCOPED_TRACE(name + (both ? ", both" : ""));
      rig_.reset();
      coordinator_.reset();
      fs::remove_all(folder_.path() / "attempts");
      const v1::Assignment assignment = Resuming();
      damage(folder_.path() / assignment.resume_path());
      if (both) damage(folder_.path() / assignment.earlier(0).path());
      EXPECT_TRUE(Succeeded(RunOne("", assignment)));
      EXPECT_EQ(StartedOf(2).resumed_step(), both ? 0u : 2u);
      EXPECT_THAT(StartedOf(2).resume_trouble(),
                  HasSubstr(both ? "; training starts from the beginning" : "; training resumes from"));
      if (!both) {
        EXPECT_THAT(StartedOf(2).resume_trouble(), HasSubstr(assignment.resume_path()));
      }
    }
  }
}

TEST_F(AgentCheckpointTest, ASoundCheckpointIsUsedWithoutANotice) {
  EXPECT_TRUE(Succeeded(RunOne("", Resuming())));
  EXPECT_EQ(StartedOf(2).resumed_step(), 4u);
  EXPECT_FALSE(StartedOf(2).has_resume_trouble());
}

TEST_F(AgentCheckpointTest, AModelThatHasChangedIsNeverEvaluated) {
  const std::string model = Content(10), sha256 = Sha256Hex(model);
  const fs::path file = folder_.path() / "artifacts" / (sha256 + ".safetensors");
  const auto write = [&] {
    fs::remove_all(file);
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << model;
  };
  write();
  ASSERT_TRUE(Succeeded(RunOne("", EvaluateAssignment(1, sha256))));
  std::uint64_t token = 2;
  for (const auto& [name, damage] : Damages()) {
    if (name == "removed" || name == "a folder") continue;
    SCOPED_TRACE(name);
    damage(file);
    // The child of the last evaluation waits for this one.
    const v1::Outcome outcome = coordinator_->Run(EvaluateAssignment(token++, sha256));
    EXPECT_EQ(outcome.failure(), v1::INVALID_SPEC);
    EXPECT_THAT(outcome.message(), HasSubstr("has the SHA-256"));
    EXPECT_THAT(outcome.message(), HasSubstr("`inlier retry` the trial"));
    write();
    EXPECT_TRUE(Succeeded(coordinator_->Run(EvaluateAssignment(token++, sha256))));
  }
}

TEST_F(AgentCheckpointTest, ATrainingDoesNotStartFromAModelThatHasChanged) {
  const std::string sha256 = Sha256Hex(Content(10));
  fs::create_directories(folder_.path() / "artifacts");
  std::ofstream(folder_.path() / "artifacts" / (sha256 + ".safetensors")) << Content(11);
  v1::Assignment assignment = TrainAssignment(1);
  assignment.set_checkpoint_sha256(sha256);
  EXPECT_THAT(RunOne("", assignment).message(), HasSubstr("has the SHA-256"));
}

// A worker whose program comes and goes.
class AgentProgramTest : public AgentTest {
 protected:
  void StartWithProgram() {
    PutBack();
    StartWorker({.trial_program = program_.string()});
  }
  void PutBack() {
    fs::remove_all(program_);
    fs::copy_file(INLIER_FAKE_TRIAL, program_);
  }
  bool WaitForTrouble(const std::string& part) {
    return coordinator_->WaitFor([&](const State& state) {
      return part.empty() ? !state.last().has_trouble() : absl::StrContains(state.last().trouble(), part);
    });
  }
  void WriteScript(const std::string& text) {
    fs::remove_all(program_);
    std::ofstream(program_) << text;
    fs::permissions(program_, fs::perms::owner_all);
  }
  const fs::path program_ = folder_.path() / "the-trial";
};

TEST_F(AgentProgramTest, AProgramThatCannotBeStartedIsTheMachinesFaultUntilItIsBack) {
  StartWithProgram();
  const std::vector<std::pair<std::string, std::function<void()>>> faults = {
      {"No such file or directory", [&] { fs::remove(program_); }},
      {"Permission denied",
       [&] { fs::permissions(program_, fs::perms::owner_read | fs::perms::owner_write); }},
      {"Exec format error", [&] { fs::resize_file(program_, 100); }},
      {"No such file or directory", [&] { WriteScript("#!/no/such/interpreter\n"); }},
      {"status 127", [&] { WriteScript("#!/bin/sh\nexec /no/such/inlier-trial \"$@\"\n"); }},
      {"error while loading shared libraries",
       [&] {
         WriteScript("#!/bin/sh\necho 'error while loading shared libraries: libtorch.so' >&2\nexit 127\n");
       }},
      {"signal 11", [&] { WriteScript("#!/bin/sh\nkill -SEGV $$\n"); }},
  };
  std::uint64_t token = 1;
  for (const auto& [message, fault] : faults) {
    SCOPED_TRACE(message);
    PutBack();
    ASSERT_TRUE(WaitForTrouble(""));
    fault();
    const v1::Outcome outcome = coordinator_->Run(TrainAssignment(token++));
    EXPECT_TRUE(outcome.not_started()) << outcome.message();
    EXPECT_THAT(outcome.message(), HasSubstr(message));
    EXPECT_TRUE(WaitForTrouble(message)) << coordinator_->state().last().trouble();
    PutBack();
    ASSERT_TRUE(WaitForTrouble(""));
    EXPECT_TRUE(Succeeded(coordinator_->Run(TrainAssignment(token++))));
  }
}

TEST_F(AgentProgramTest, AProgramThatIsBeingWrittenIsTriedAgain) {
  StartWithProgram();
  {
    const std::ofstream writes(program_, std::ios::in | std::ios::out);  // Text file busy.
    EXPECT_TRUE(coordinator_->Run(TrainAssignment(1)).not_started());
    EXPECT_TRUE(WaitForTrouble("Text file busy"));
  }
  EXPECT_TRUE(WaitForTrouble(""));
}

TEST_F(AgentProgramTest, ATrialThatCrashesBeforeItSaysAnythingIsItsOwnFaultWhereTheProgramRuns) {
  const v1::Outcome outcome = RunOne("crash");
  EXPECT_FALSE(outcome.not_started());
  EXPECT_EQ(outcome.failure(), v1::CRASHED);
}

TEST_F(AgentProgramTest, AnAttemptSaysHowLongItTook) {
  const v1::Outcome outcome = RunOne("");
  EXPECT_TRUE(outcome.has_ran_ms());
  EXPECT_LT(outcome.ran_ms(), 60'000u);
}

}  // namespace
}  // namespace inlier
