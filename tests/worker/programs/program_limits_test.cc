// What a program cannot do: have values that its description does not allow, keep what leads out of its folder, outlive its attempt.
#include <gmock/gmock.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "base/time.h"
#include "tests/worker/programs/program_fixture.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using ProgramLimitsTest = ProgramTest;

// The coordinator knows no other description than the submitter's.
TEST_F(ProgramLimitsTest, AValueThatItsOwnDescriptionDoesNotAllowIsRefused) {
  std::string description = kRunnerDescription;
  // A parameter of the evaluation is not there in a training.
  description.replace(description.find("default: 8"), 10, "required: true");
  Write(kSuccess, description);
  EXPECT_EQ(Run(Spec()).kind(), v1::Outcome::SUCCEEDED);
  const auto problem = [this](const char* name, const google::protobuf::Value& value) {
    v1::AttemptSpec spec = Spec();
    (*spec.mutable_spec()->mutable_program()->mutable_parameters()->mutable_fields())[name] = value;
    const v1::Outcome outcome = Run(spec);
    EXPECT_EQ(outcome.failure(), v1::INVALID_SPEC);
    return outcome.message();
  };
  google::protobuf::Value number, text;
  number.set_number_value(1.5);
  text.set_string_value("$(id)");
  EXPECT_THAT(problem("lr", number), AllOf(HasSubstr("lr: 1.5"), HasSubstr("inlier-program.yaml allows it")));
  EXPECT_THAT(problem("layers", number), HasSubstr("layers: "));
  EXPECT_THAT(problem("optimizer.name", text), HasSubstr("optimizer.name: "));
  EXPECT_THAT(problem("other", text), HasSubstr("other: unknown field"));
  EXPECT_THAT(problem("lr.x", text), HasSubstr("lr"));
}

TEST_F(ProgramLimitsTest, WhatLeadsOutOfACheckpointIsNotKept) {
  const std::string out = (folder_ / "attempt/output").string();
  const auto save = [&](const std::string& made, const std::string& name) {
    RunScript("cd " + out + "; mkdir c; " + made + "\necho '{\"checkpoint\": {\"path\": \"" + name +
              "\", \"step\": 1}}' >&3\n" + kSuccess);
    fs::remove_all(out);
    EXPECT_FALSE(fs::exists(folder_ / "attempt/step-1.tar")) << made;
    return Logged();
  };
  EXPECT_THAT(save("ln -s /etc/passwd c/x", "c"),
              HasSubstr("the link x leads out, to /etc/passwd; save a copy"));
  EXPECT_THAT(save("mkdir c/d; ln -s ../../y c/d/x", "c"), HasSubstr("the link d/x leads out, to ../../y"));
  EXPECT_THAT(save("mkfifo c/x", "c"), HasSubstr("in which x is neither a file nor a folder"));
  EXPECT_THAT(save("ln -s /etc x", "x"), HasSubstr("leads out of output_dir"));
  EXPECT_THAT(save("ln -s c x", "x"), HasSubstr("a link; report what it leads to"));
  EXPECT_THAT(save("ln -s / x", "x/etc/passwd"), HasSubstr("leads out of output_dir"));
  EXPECT_THAT(save("mkfifo x", "x"), HasSubstr("is neither a file nor a folder"));
  RunScript("cd " + out + "; mkdir c; echo 1 >c/step-1; ln -s step-1 c/last\n" +
            "echo '{\"checkpoint\": {\"path\": \"c/\", \"step\": 1}}' >&3\n" + kSuccess);
  EXPECT_TRUE(fs::exists(folder_ / "attempt/step-1.tar")) << Logged();
}

TEST_F(ProgramLimitsTest, AFileIsKeptBelowItsFolderWhateverLinksAreThere) {
  const fs::path outside = folder_ / "outside";
  fs::create_directories(outside);
  std::ofstream(outside / "theirs") << "theirs\n";
  const std::string keep = "echo '{\"file\": {\"path\": \"";
  RunScript("cd " + (folder_ / "attempt/output").string() + "; mkdir a; ln -s " + outside.string() +
            " a/out\n" + keep + "a\"}}' >&3\n" +  // Now its link is where files are kept.
            "while [ ! -d ../files/a ]; do sleep 0.01; done; mkdir -p a/out; echo mine >a/out/job\n" + keep +
            "a/out/job\"}}' >&3; ln -s " + outside.string() + " b\n" + keep + "b/theirs\"}}' >&3\n" + keep +
            "b\"}}' >&3\n" + kSuccess);
  EXPECT_FALSE(fs::exists(outside / "job"));
  EXPECT_TRUE(fs::exists(outside / "theirs"));
  EXPECT_FALSE(fs::exists(folder_ / "attempt/files/b"));
  EXPECT_THAT(Logged(), AllOf(HasSubstr("cannot enter"), HasSubstr("neither a file nor a folder")));
}

// As it does: a file that only root could read is none of its.
TEST_F(ProgramLimitsTest, AnotherUsersCheckpointIsPackedAndUnpackedAsThatUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  fs::permissions(folder_.path(), fs::perms::others_exec | fs::perms::others_read, fs::perm_options::add);
  user_ = "nobody";
  const std::string out = (folder_ / "attempt/output").string();
  RunScript("id -un; cd " + out + "; echo 1 >c; echo 2 >d; chmod 0 d\n" +
            "echo '{\"checkpoint\": {\"path\": \"c\", \"step\": 1}}' >&3\n"
            "echo '{\"checkpoint\": {\"path\": \"d\", \"step\": 2}}' >&3\n" +
            kSuccess);
  EXPECT_THAT(printed_, HasSubstr("nobody"));
  EXPECT_TRUE(fs::exists(folder_ / "attempt/step-1.tar")) << Logged();
  EXPECT_FALSE(fs::exists(folder_ / "attempt/step-2.tar"));
  EXPECT_THAT(Logged(), HasSubstr("d: Cannot open: Permission denied"));
  fs::rename(folder_ / "attempt/step-1.tar", folder_ / "kept.tar");
  Write("ls -l \"$(sed -n 's/.*\"resume_from\": \"\\(.*\\)\".*/\\1/p' $INLIER_TRIAL)\"; " +
        std::string(kSuccess));
  v1::AttemptSpec resumed = Spec();
  resumed.set_resume_from((folder_ / "kept.tar").string());
  Run(resumed);
  EXPECT_THAT(printed_, HasSubstr(" nobody "));
}

// The last of them comes to the runner when the one before it has been killed.
TEST_F(ProgramLimitsTest, WhatIsLeftBehindIsKilledWithItsChildren) {
  const std::string left = (folder_ / "left").string();
  Write("sh -c 'sh -c \"sleep 1000 & echo \\$! >" + left + "; wait\"; true' &\nwhile ! [ -s " + left +
        " ]; do sleep 0.01; done\n" + kSuccess);
  EXPECT_EQ(Run(Spec()).kind(), v1::Outcome::SUCCEEDED);
  const std::string pid(absl::StripAsciiWhitespace(ReadFile(left).value()));
  EXPECT_FALSE(fs::exists("/proc/" + pid));
}

TEST_F(ProgramLimitsTest, WhatReplacesItselfAgainAndAgainIsKilled) {
  const Timestamp began = MonotonicNow();
  Write("setsid sh -c 'left() { i=$((i + 1)); [ $i -lt 20000 ] && left & }; i=0; left' &\nsleep 0.1\n" +
        std::string(kSuccess));
  EXPECT_EQ(Run(Spec()).kind(), v1::Outcome::SUCCEEDED);
  EXPECT_LT(ToSeconds(MonotonicNow() - began), 8);
}

// The shell is the runner's parent; its end is that of a worker which is killed.
TEST_F(ProgramLimitsTest, WhenItsWorkerIsKilledEverythingThatTheProgramStartedEnds) {
  const std::string left = (folder_ / "left").string();
  // One of them in a session of its own. One is stopped: where a group has such a process, the end of its parent is a SIGHUP too.
  Write("sleep 1000 & echo $! >" + left + "; setsid sleep 1000 & echo $! >" + left + "-2; wait\n");
  Run(Spec(), "setsid bash -c 'set -m; $RUN & while ! [ -s " + left + "-2 ]; do sleep 0.01; done; kill -STOP $(cat " +
                  left + "); kill -9 $$'; true");
  for (const std::string& file : {left, left + "-2"}) {
    const std::string pid(absl::StripAsciiWhitespace(ReadFile(file).value()));
    for (int tries = 0; tries < 1000 && fs::exists("/proc/" + pid); ++tries) ::usleep(10000);
    EXPECT_FALSE(fs::exists("/proc/" + pid)) << file;
  }
}

}  // namespace
}  // namespace inlier
