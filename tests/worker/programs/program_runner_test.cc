// The runner of programs with real programs: what it reports of good ones and of broken ones.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/processes/usable_cpus.h"
#include "tests/worker/programs/program_fixture.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using ProgramRunnerTest = ProgramTest;

TEST_F(ProgramRunnerTest, AProgramGetsItsTrialAndItsLinesBecomeEvents) {
  const v1::Outcome outcome = RunScript(
      "cp \"$INLIER_TRIAL\" " + (folder_ / "seen.json").string() +
      "; echo hello\n"
      "echo '{\"progress\": {\"step\": 1, \"steps_total\": 2, \"loss\": 3.5}}' >&3\n"
      "echo '{\"measurement\": {\"name\": \"score\", \"value\": 0.25, \"step\": 2, \"final\": true}}' >&3\n"
      "echo '{\"measurement\": {\"name\": \"score\", \"value\": \"NaN\", \"step\": 1}}' >&3\n" +
      kSuccess);
  EXPECT_EQ(outcome.kind(), v1::Outcome::SUCCEEDED) << outcome.DebugString();
  EXPECT_THAT(printed_, HasSubstr("hello"));
  const nlohmann::json seen = nlohmann::json::parse(ReadFile(folder_ / "seen.json").value());
  EXPECT_EQ(seen["parameters"].dump(), "{\"layers\":4,\"lr\":0.5,\"optimizer\":{\"name\":\"adam\"}}");
  EXPECT_EQ(seen["seed"], 3);
  EXPECT_EQ(seen["stage"], "train");
  EXPECT_EQ(seen["world_size"], 1);
  EXPECT_EQ(events_[0].started().dataset_digest(), Spec().spec().program().digest());
  EXPECT_EQ(events_[1].progress().loss(), 3.5);
  EXPECT_EQ(events_[2].measurement().value(), 0.25);
  EXPECT_TRUE(std::isnan(events_[3].measurement().value()));
}

TEST_F(ProgramRunnerTest, WhatItSavedIsOneFileWithTheSameBytesAgainAndComesBackAsItWas) {
  const std::string save = "d=" + (folder_ / "attempt/output").string() +
                           "; mkdir -p $d/m/deep; echo weights >$d/m/w; echo more >$d/m/deep/x\n"
                           "echo '{\"checkpoint\": {\"path\": \"m\", \"step\": 5, \"final\": true}}' >&3\n" +
                           kSuccess;
  EXPECT_EQ(RunScript(save).kind(), v1::Outcome::SUCCEEDED);
  const v1::CheckpointSaved first = FinalCheckpoint().value();
  EXPECT_EQ(Sha256HexOfFile(folder_ / "attempt" / first.path()).value(), first.sha256());
  fs::rename(folder_ / "attempt" / first.path(), folder_ / "kept.tar");
  EXPECT_EQ(Run(Spec()).kind(), v1::Outcome::SUCCEEDED);
  EXPECT_EQ(FinalCheckpoint()->sha256(), first.sha256());
  // An evaluation, and a training that resumes, get it as a folder.
  Write("",
        "name: p\ncommand: [./train.sh]\nfiles: [train.sh]\nevaluate: [sh, -c, 'm=$(sed -n "
        "\"s/.*\\\"model\\\": \\\"\\\\(.*\\\\)\\\".*/\\\\1/p\" "
        "$INLIER_TRIAL); cat $m/deep/x $m/w; echo \"{\\\"outcome\\\": {\\\"kind\\\": \\\"SUCCEEDED\\\"}}\" "
        ">&3']\n");
  v1::AttemptSpec evaluation = Spec(v1::EVALUATE_STAGE);
  evaluation.set_checkpoint((folder_ / "kept.tar").string());
  EXPECT_EQ(Run(evaluation).kind(), v1::Outcome::SUCCEEDED) << events_.back().DebugString();
  EXPECT_THAT(printed_, HasSubstr("more\nweights\n"));
  Write("grep -o '\"resume_[a-z]*\": [^,]*' $INLIER_TRIAL; " + std::string(kSuccess));
  v1::AttemptSpec resumed = Spec();
  resumed.set_resume_from((folder_ / "kept.tar").string());
  resumed.set_resume_step(5);
  EXPECT_EQ(Run(resumed).kind(), v1::Outcome::SUCCEEDED);
  EXPECT_THAT(printed_, AllOf(HasSubstr("\"resume_step\": 5"), HasSubstr("/resume/m\"")));
  EXPECT_EQ(events_[0].started().resumed_step(), 5u);
}

TEST_F(ProgramRunnerTest, ATrainingThatSavesNothingHasAnEmptyModelAndAnEvaluationWithoutACommandIsDone) {
  EXPECT_EQ(RunScript(kSuccess).kind(), v1::Outcome::SUCCEEDED);
  const v1::CheckpointSaved empty = FinalCheckpoint().value();
  // As GNU tar packs nothing.
  EXPECT_EQ(empty.sha256(), "84ff92691f909a05b224e1c56abb4864f01b4f8e3c854e4bb4c7baf1d3f6d652");
  v1::AttemptSpec evaluation = Spec(v1::EVALUATE_STAGE);
  evaluation.set_checkpoint((folder_ / "attempt" / empty.path()).string());
  Write("exit 1\n");
  evaluation.mutable_spec()->mutable_program()->set_digest(Spec().spec().program().digest());
  EXPECT_EQ(Run(evaluation).kind(), v1::Outcome::SUCCEEDED);
}

TEST_F(ProgramRunnerTest, AReplyComesWhenACheckpointIsKept) {
  const std::string out = (folder_ / "attempt/output").string();
  EXPECT_EQ(
      RunScript(
          "echo 1 >" + out +
          "/c; echo '{\"checkpoint\": {\"path\": \"c\", \"step\": 9}}' >&3; read reply; echo got $reply\n" +
          kSuccess)
          .kind(),
      v1::Outcome::SUCCEEDED);
  EXPECT_THAT(printed_, HasSubstr("got {\"saved\": {\"step\": 9}}"));
}

TEST_F(ProgramRunnerTest, OtherSourceThanTheSweepsIsRefusedWithBothDigests) {
  Write(kSuccess);
  const v1::AttemptSpec spec = Spec();
  Write("echo changed\n" + std::string(kSuccess));
  const v1::Outcome outcome = Run(spec);
  EXPECT_EQ(outcome.failure(), v1::OTHER_DATA);
  EXPECT_THAT(outcome.message(), AllOf(HasSubstr(spec.spec().program().digest().substr(0, 12)),
                                       HasSubstr("put that source there, or submit the sweep again")));
  EXPECT_NE(events_[0].started().dataset_digest(), spec.spec().program().digest());
}

struct Broken {
  const char* name;
  std::string script;
  v1::FailureClass failure;
  std::string message;
};

class BrokenProgramTest : public ProgramRunnerTest, public testing::WithParamInterface<Broken> {};

TEST_P(BrokenProgramTest, FailsWithTheReasonAndTheRemedy) {
  const v1::Outcome outcome = RunScript(GetParam().script);
  EXPECT_EQ(outcome.kind(), v1::Outcome::FAILED);
  EXPECT_EQ(outcome.failure(), GetParam().failure) << outcome.message();
  EXPECT_THAT(outcome.message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, BrokenProgramTest,
    testing::Values(
        Broken{"NoOutcome", "exit 0\n", v1::CRASHED,
               "ended with status 0 without an outcome; its last line on descriptor 3 must be"},
        Broken{"Status", "exit 3\n", v1::CRASHED,
               "ended with status 3 without an outcome; its output is in the log"},
        Broken{"StatusAfterSuccess", std::string(kSuccess) + "exit 3\n", v1::CRASHED,
               "ended with status 3 after it reported a result"},
        Broken{"Signal", "kill -SEGV $$\n", v1::CRASHED, "was ended by signal 11"},
        Broken{"Garbage", "echo not json >&3\n", v1::CRASHED,
               "a line of it was refused: \"not json\": it is not an object"},
        Broken{"UnknownKind", "echo '{\"progres\": {}}' >&3\n", v1::CRASHED, "did you mean \"progress\"?"},
        Broken{"LostResult",
               "echo '{\"measurement\": {\"name\": \"score\", \"value\": null, \"final\": true}}' >&3; sleep "
               "60\n",
               v1::INVALID_SPEC,
               "a line that cannot be read, measurement: value is not a number; correct it"},
        Broken{"ResultThatIsNoJson",
               "echo '{ \"measurement\": {\"name\": \"score\", \"value\": NaN}}' >&3; sleep 60\n",
               v1::INVALID_SPEC,
               "a line that is not JSON of at most 64 KiB, and what it reports would be lost"},
        Broken{"ResultThatIsTooLong",
               "printf '{\"measurement\": {\"name\": \"score\", \"value\": 1, \"step\": %070000d}}\\n' 1 "
               ">&3; sleep 60\n",
               v1::INVALID_SPEC,
               "a line that is not JSON of at most 64 KiB, and what it reports would be lost"},
        Broken{"WrongType", "echo '{\"progress\": {\"step\": -1}}' >&3\n", v1::CRASHED,
               "progress: step is not a whole number from 0 on"},
        Broken{
            "Undeclared", "echo '{\"measurement\": {\"name\": \"scor\", \"value\": 1}}' >&3; sleep 60\n",
            v1::INVALID_SPEC,
            "which inlier-program.yaml does not declare; did you mean \"score\"?; add it under measurements"},
        Broken{"ModelOutside",
               "echo '{\"checkpoint\": {\"path\": \"../../etc\", \"step\": 1, \"final\": true}}' >&3; sleep "
               "60\n",
               v1::CRASHED, "does not stay below"},
        Broken{"ModelMissing",
               "echo '{\"checkpoint\": {\"path\": \"m\", \"step\": 1, \"final\": true}}' >&3; sleep 60\n",
               v1::CRASHED, "which is not there"},
        Broken{"SaysWhy",
               "echo '{\"outcome\": {\"kind\": \"FAILED\", \"failure\": \"OUT_OF_MEMORY\", \"message\": "
               "\"too big\"}}' >&3; exit 1\n",
               v1::OUT_OF_MEMORY, "too big"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(ProgramRunnerTest, AProgramThatCannotBeStartedIsNamed) {
  Write("", "name: p\ncommand: [no-such-program, x]\nfiles: [train.sh]\n");
  v1::Outcome outcome = Run(Spec());
  EXPECT_EQ(outcome.failure(), v1::CRASHED);
  EXPECT_THAT(outcome.message(), AllOf(HasSubstr("no-such-program x: cannot execute it: No such file"),
                                       HasSubstr("correct command or environment")));
  Write(kSuccess, "name: p\ncommand: [./train.sh]\nfiles: [train.sh]\nenvironment: {venv: .venv}\n");
  outcome = Run(Spec());
  EXPECT_EQ(outcome.failure(), v1::CRASHED);
  EXPECT_THAT(outcome.message(), AllOf(HasSubstr("environment.venv: there is no Python environment in"),
                                       HasSubstr("python3 -m venv")));
}

TEST_F(ProgramRunnerTest, AStoppedProgramSavesAndIsPreemptedAndWhatItLeavesBehindIsKilled) {
  const std::string out = (folder_ / "attempt/output").string();
  Write("trap 'echo 1 >" + out +
        "/c; echo \"{\\\"checkpoint\\\": {\\\"path\\\": \\\"c\\\", \\\"step\\\": 4}}\" >&3; read reply; exit "
        "0' TERM\n"
        "setsid sleep 1000 & echo $! >" +
        (folder_ / "left").string() +
        "\n"
        "echo '{\"progress\": {\"step\": 1}}' >&3\nwhile :; do sleep 0.05; done\n");
  const v1::Outcome outcome =
      Run(Spec(), "trap : TERM; $RUN & while ! grep -q progress " + (folder_ / "events").string() +
                      "; do sleep 0.05; done; kill -TERM 0; wait; wait");
  EXPECT_EQ(outcome.failure(), v1::PREEMPTED) << outcome.message();
  bool saved = false;
  for (const v1::TrialEvent& event : events_) saved |= event.checkpoint().step() == 4;
  EXPECT_TRUE(saved);
  const std::string left = ReadFile(folder_ / "left").value();
  EXPECT_FALSE(fs::exists("/proc/" + left.substr(0, left.find('\n'))));
}

TEST_F(ProgramRunnerTest, AProgramThatTheSignalOfAJobsEndEndedFirstIsPreempted) {
  Write("echo $$ >" + (folder_ / "pid").string() +
        "; echo '{\"progress\": {\"step\": 1}}' >&3\nwhile :; do sleep 0.05; done\n");
  const v1::Outcome outcome =
      Run(Spec(), "$RUN & while ! grep -q progress " + (folder_ / "events").string() +
                      "; do sleep 0.05; done; kill -TERM $(cat " + (folder_ / "pid").string() + "); wait");
  EXPECT_EQ(outcome.failure(), v1::PREEMPTED) << outcome.message();
}

TEST_F(ProgramRunnerTest, InAnImageItsLinesRepliesAndStatusAreTheSame) {
  const std::string out = (folder_ / "attempt/output").string();
  const std::string counts =
      "for i in 1 2 3; do echo $i >" + out +
      "/c; echo \"{\\\"checkpoint\\\": {\\\"path\\\": \\\"c\\\", \\\"step\\\": $i}}\" >&3; "
      "read reply; echo got $reply; done\n";
  EXPECT_EQ(Run(InImage(counts + kSuccess)).kind(), v1::Outcome::SUCCEEDED) << events_.back().DebugString();
  EXPECT_THAT(printed_, HasSubstr("got {\"saved\": {\"step\": 3}}"));
  EXPECT_THAT(events_[0].started().build(), HasSubstr(" in sha256:aaaa"));
  EXPECT_THAT(Run(InImage("exit 3\n")).message(), HasSubstr("ended with status 3 without an outcome"));
  v1::AttemptSpec none = InImage(kSuccess);
  none.clear_container();
  EXPECT_THAT(Run(none).message(), HasSubstr("no container_runtime is installed or allowed"));
}

TEST_F(ProgramRunnerTest, InAnImageItIsStoppedAndWhenItsCommandIsKilledItEndsAndIsRemoved) {
  const v1::AttemptSpec spec = InImage(
      // Here it is in the group, as no container is: the signal comes to it and by the shell.
      "trap 'trap \"\" TERM; echo \"{\\\"log\\\": {\\\"text\\\": \\\"asked\\\"}}\" >&3; exit 0' TERM\n"
      "echo $$ >" +
      (folder_ / "left").string() +
      "; echo '{\"progress\": {\"step\": 1}}' >&3\nwhile :; do sleep 0.05; done\n");
  const std::string until =
      "while ! grep -q progress " + (folder_ / "events").string() + "; do sleep 0.05; done; ";
  EXPECT_EQ(Run(spec, "trap : TERM; $RUN & " + until + "kill -TERM 0; wait; wait").failure(), v1::PREEMPTED);
  EXPECT_EQ(Logged(), "asked\n");
  EXPECT_THAT(ReadFile(folder_ / "calls").value(), testing::Not(HasSubstr("rm -f")));
  // A line that ends the attempt kills what runs the container.
  const v1::AttemptSpec broken =
      InImage("echo $$ >" + (folder_ / "left").string() +
              "; echo '{\"measurement\": {\"name\": \"x\", \"value\": 1}}' >&3; sleep 1000\n");
  EXPECT_EQ(Run(broken).failure(), v1::INVALID_SPEC);
  EXPECT_THAT(ReadFile(folder_ / "calls").value(), HasSubstr("rm -f inlier-st-1-7-0\n"));
  const std::string left = ReadFile(folder_ / "left").value();
  EXPECT_FALSE(fs::exists("/proc/" + left.substr(0, left.find('\n'))));
}

// What `inlier program test` says, without the program's own output.
class ProgramTrialRunTest : public ProgramRunnerTest {
 protected:
  std::string Test(const std::string& script, const std::string& description = kRunnerDescription) {
    Write(script, description);
    const auto ran = RunToEnd({.program = INLIER_WORKER_PROGRAM,
                               .arguments = {"test-program", root().string()},
                               .environment = TrialEnvironment({}, {}),
                               .limit = std::chrono::seconds(100),
                               .output_bytes_max = 1 << 16},
                              [] { return false; });
    EXPECT_TRUE(ran.ok() && ran->status) << ran.status();
    if (!ran.ok()) return "";
    EXPECT_EQ(ran->Succeeded(), ran->output.find("wrong: ") == std::string::npos) << ran->errors;
    return ran->output;
  }
  // Counts to 30 and saves at each step. `before` runs before it counts, `trap` at SIGTERM.
  static std::string Counts(const std::string& before, const std::string& trap) {
    return "out=$(sed -n 's/.*\"output_dir\": \"\\(.*\\)\".*/\\1/p' $INLIER_TRIAL); i=0; stop=0\n" + before +
           "\ntrap '" + trap +
           "' TERM\nwhile [ $i -lt 30 ] && [ $stop = 0 ]; do i=$((i + 1)); echo $i >$out/c$i\n"
           "echo \"{\\\"progress\\\": {\\\"step\\\": $i}}\" >&3\n"
           "echo \"{\\\"checkpoint\\\": {\\\"path\\\": \\\"c$i\\\", \\\"step\\\": $i}}\" >&3; read saved; "
           "sleep 0.02; done\n"
           "[ $stop = 1 ] && exit 0\n"
           "echo '{\"measurement\": {\"name\": \"score\", \"value\": 30, \"final\": true}}' >&3\n" +
           kSuccess;
  }
};

constexpr char kResumes[] =
    "if grep -q resume_from $INLIER_TRIAL; then i=$(sed -n 's/.*\"resume_step\": \\([0-9]*\\).*/\\1/p' "
    "$INLIER_TRIAL); fi";

TEST_F(ProgramTrialRunTest, AProgramThatDoesAllHasNothingWrong) {
  EXPECT_THAT(Test(Counts(kResumes, "stop=1")), HasSubstr("does what the protocol asks"));
}

TEST_F(ProgramTrialRunTest, AFileThatStaysIsNothingWrong) {
  const std::string keeps = "; echo 1 >$out/plot; echo '{\"file\": {\"path\": \"plot\"}}' >&3\n";
  EXPECT_THAT(Test(Counts(kResumes + keeps, "stop=1")), HasSubstr("does what the protocol asks"));
}

TEST_F(ProgramTrialRunTest, NamesWhatAProgramDoesWrong) {
  EXPECT_THAT(Test(Counts("", "stop=1")), HasSubstr("wrong: it does not resume: with resume_from of step"));
  EXPECT_THAT(Test(Counts(kResumes, "sleep 30")),
              HasSubstr("wrong: it ignores SIGTERM: after the grace it is killed"));
  EXPECT_THAT(Test(kSuccess), AllOf(HasSubstr("wrong: its training never reports score"),
                                    HasSubstr("wrong: it reports no progress"),
                                    HasSubstr("note: it saves no checkpoint on the way")));
  EXPECT_THAT(Test("echo nonsense >&3\n" + std::string(kSuccess)),
              HasSubstr("wrong: the training: a line on descriptor 3 was refused: \"nonsense\""));
  EXPECT_THAT(
      Test("exit 0\n"),
      HasSubstr("wrong: the training failed, CRASHED: the program ended with status 0 without an outcome"));
  EXPECT_THAT(Test("echo '{\"measurement\": {\"name\": \"x\", \"value\": 1}}' >&3; sleep 9\n"),
              HasSubstr("wrong: the training failed, INVALID_SPEC"));
  EXPECT_THAT(Test("echo '{\"checkpoint\": {\"path\": \"no\", \"step\": 1}}' >&3\n" + std::string(kSuccess)),
              HasSubstr("which is not there"));
  EXPECT_THAT(
      Test("echo '{\"checkpoint\": {\"path\": \"../x\", \"step\": 1}}' >&3\n" + std::string(kSuccess)),
      HasSubstr("does not stay below"));
  EXPECT_THAT(Test("", "name: p\ncommand: [./none]\nfiles: [train.sh]\n"),
              HasSubstr("./none: cannot execute it: No such file"));
  EXPECT_THAT(
      Test(kSuccess,
           "name: p\ncommand: [./train.sh]\nfiles: [train.sh]\nenvironment: {conda: none-of-this-name}\n"),
      HasSubstr("environment.conda: the environment none-of-this-name is not there"));
}

TEST_F(ProgramRunnerTest, AFileIsKeptWithTheAttempt) {
  const std::string out = (folder_ / "attempt/output").string();
  EXPECT_EQ(
      RunScript("echo 1 >" + out + "/plot.png; echo '{\"file\": {\"path\": \"plot.png\"}}' >&3\n" + kSuccess)
          .kind(),
      v1::Outcome::SUCCEEDED);
  EXPECT_TRUE(fs::exists(folder_ / "attempt/files/plot.png"));
  EXPECT_THAT(Logged(), HasSubstr("files/plot.png"));
}

TEST_F(ProgramRunnerTest, NoReplyComesForACheckpointThatIsNotKept) {
  RunScript(
      "echo '{\"checkpoint\": {\"path\": \"gone\", \"step\": 3}}' >&3\n"
      "echo 4 >" +
      (folder_ / "attempt/output/c").string() +
      "; echo '{\"checkpoint\": {\"path\": \"c\", \"step\": 4}}' >&3; read reply; echo got $reply\n" +
      kSuccess);
  EXPECT_THAT(printed_,
              AllOf(HasSubstr("got {\"saved\": {\"step\": 4}}"), testing::Not(HasSubstr("\"step\": 3"))));
}

TEST_F(ProgramRunnerTest, OfCheckpointsTheNewestTwoAreKept) {
  const std::string out = (folder_ / "attempt/output").string();
  RunScript("for step in 1 2 3; do echo $step >" + out +
            "/c; echo \"{\\\"checkpoint\\\": {\\\"path\\\": \\\"c\\\", \\\"step\\\": $step}}\" >&3; read "
            "reply; done\n" +
            kSuccess);
  EXPECT_FALSE(fs::exists(folder_ / "attempt/step-1.tar"));
  EXPECT_TRUE(fs::exists(folder_ / "attempt/step-2.tar"));
  EXPECT_TRUE(fs::exists(folder_ / "attempt/step-3.tar"));
}

TEST_F(ProgramRunnerTest, EachProcessOfAGangHasAFileOfItsOwn) {
  Write("cp \"$INLIER_TRIAL\" " + (folder_ / "seen-").string() +
        "$(sed -n 's/.*\"rank\": \\(.\\).*/\\1/p' $INLIER_TRIAL)\n" + kSuccess);
  v1::AttemptSpec spec = Spec();
  spec.mutable_gang()->set_processes(2);
  spec.mutable_gang()->set_meeting((folder_ / "attempt/meeting").string());
  for (const int rank : {1, 0}) {
    spec.mutable_gang()->set_rank(rank);
    EXPECT_EQ(Run(spec).kind(), v1::Outcome::SUCCEEDED);
  }
  // Neither has overwritten the other's, which it may not have read yet.
  EXPECT_THAT(ReadFile(folder_ / "attempt/trial.json").value(), HasSubstr("\"rank\": 0"));
  EXPECT_THAT(ReadFile(folder_ / "attempt/process-1/trial.json").value(), HasSubstr("\"rank\": 1"));
  EXPECT_TRUE(fs::exists(folder_ / "seen-0") && fs::exists(folder_ / "seen-1"));
  EXPECT_THAT(ReadFile(folder_ / "seen-1").value(), HasSubstr("/attempt/output/meeting\""));
}

TEST_F(ProgramRunnerTest, FilesOfOneNameInTwoFoldersAreBothKept) {
  const std::string out = (folder_ / "attempt/output").string();
  RunScript("mkdir " + out + "/a " + out + "/b; echo 1 >" + out + "/a/x; echo 2 >" + out +
            "/b/x; echo '{\"file\": {\"path\": \"a/x\"}}' >&3; echo '{\"file\": {\"path\": \"b/x\"}}' >&3\n" +
            kSuccess);
  EXPECT_EQ(ReadFile(folder_ / "attempt/files/a/x").value(), "1\n");
  EXPECT_EQ(ReadFile(folder_ / "attempt/files/b/x").value(), "2\n");
}

TEST_F(ProgramRunnerTest, AProgramIsBoundToTheCpusOfItsSlot) {
  Write("echo cpus $(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)\n" + std::string(kSuccess));
  v1::AttemptSpec spec = Spec();
  const int cpu = FindUsableCpus().bound_to.back();
  spec.add_cpus(static_cast<std::uint32_t>(cpu));
  Run(spec);
  EXPECT_THAT(printed_, HasSubstr("cpus " + std::to_string(cpu) + "\n"));
}

}  // namespace
}  // namespace inlier
