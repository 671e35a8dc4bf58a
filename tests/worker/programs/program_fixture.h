// Attempts of a program of one's own, a script, as a worker runs them.
#ifndef INLIER_TESTS_WORKER_PROGRAMS_PROGRAM_FIXTURE_H_
#define INLIER_TESTS_WORKER_PROGRAMS_PROGRAM_FIXTURE_H_

#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/files/file.h"
#include "base/run_program.h"
#include "inlier/v1/attempt.pb.h"
#include "spec/program/program_description.h"
#include "tests/support/temporary_folder.h"
#include "worker/processes/event_reader.h"
#include "worker/processes/trial_environment.h"

namespace inlier {

inline constexpr char kRunnerDescription[] =
    "name: p\ncommand: [./train.sh]\nfiles: [train.sh]\nmeasurements: {score: {better: HIGHER}}\n"
    "parameters: {lr: {type: NUMBER, max: 1}, layers: {type: INTEGER}, optimizer.name: {type: TEXT, choices: "
    "[adam]}, bits: {type: INTEGER, default: 8, read_by: EVALUATION}}\n";
inline constexpr char kSuccess[] = "echo '{\"outcome\": {\"kind\": \"SUCCEEDED\"}}' >&3\n";

class ProgramTest : public testing::Test {
 protected:
  // The program is a script; `description` replaces that of all tests.
  void Write(const std::string& script, const std::string& description = kRunnerDescription) {
    std::filesystem::create_directories(root());
    std::ofstream(root() / "inlier-program.yaml") << description;
    std::ofstream(root() / "train.sh") << "#!/bin/sh\n" << script;
    std::filesystem::permissions(root() / "train.sh", std::filesystem::perms(0755));
  }
  v1::AttemptSpec Spec(v1::StageKind kind = v1::TRAIN_STAGE) {
    v1::AttemptSpec spec;
    spec.set_stage_id("st-1");
    spec.set_token(7);
    spec.set_kind(kind);
    spec.set_program_root(root().string());
    spec.set_output_dir((folder_ / "attempt").string());
    spec.set_device("cpu");
    spec.set_threads(1);
    spec.mutable_spec()->set_seed(3);
    v1::ProgramTrial& program = *spec.mutable_spec()->mutable_program();
    program.set_name("p");
    program.set_digest(ProgramDigest(root(), ReadProgram(root()).value()).value());
    auto& fields = *program.mutable_parameters()->mutable_fields();
    if (ReadProgram(root())->parameters().empty()) return spec;
    fields["lr"].set_number_value(0.5);
    fields["layers"].set_number_value(4);
    fields["optimizer.name"].set_string_value("adam");
    return spec;
  }
  // The attempt in an image, by a runtime that has no containers: it runs the command as it is.
  v1::AttemptSpec InImage(const std::string& script) {
    Write(script,
          std::string(kRunnerDescription) + "environment: {image: 'sha256:" + std::string(64, 'a') + "'}\n");
    std::ofstream(folder_ / "podman")
        << "#!/bin/sh\necho \"$@\" >>" << (folder_ / "calls").string()
        << "\n[ $1 = run ] || exit 0\nwhile [ $1 != --entrypoint=sh ]; do shift; done\n"
           "shift 2; exec sh \"$@\"\n";
    std::filesystem::permissions(folder_ / "podman", std::filesystem::perms::owner_all);
    v1::AttemptSpec spec = Spec();
    spec.add_container((folder_ / "podman").string());
    return spec;
  }
  // Runs the attempt in a shell; `around` has $RUN where the runner is started.
  v1::Outcome Run(const v1::AttemptSpec& spec, const std::string& around = "$RUN") {
    std::filesystem::create_directories(spec.output_dir());
    std::string json;
    EXPECT_TRUE(google::protobuf::util::MessageToJsonString(spec, &json).ok());
    EXPECT_EQ(WriteFile(folder_ / "spec.json", json), absl::OkStatus());
    std::string shell = around;
    const std::string run = std::string(INLIER_WORKER_PROGRAM) + " run-program " +
                            (user_.empty() ? "" : "--user " + user_ + " ") +
                            (folder_ / "spec.json").string() + " 3>" + (folder_ / "events").string();
    shell.replace(shell.find("$RUN"), 4, run);
    const auto ran = RunToEnd({.program = "/bin/sh",
                               .arguments = {"-c", shell},
                               .environment = TrialEnvironment({}, {}),
                               .limit = std::chrono::seconds(60),
                               .join_errors = true},
                              [] { return false; });
    EXPECT_TRUE(ran.ok() && ran->status) << ran.status();
    printed_ = ran.ok() ? ran->output : "";
    events_.clear();
    EventReader reader(65536);
    for (const std::string& garbage : reader.Feed(ReadFile(folder_ / "events").value(), events_))
      ADD_FAILURE() << garbage;
    EXPECT_FALSE(events_.empty());
    return events_.empty() ? v1::Outcome() : events_.back().outcome();
  }
  v1::Outcome RunScript(const std::string& script) {
    Write(script);
    return Run(Spec());
  }
  std::optional<v1::CheckpointSaved> FinalCheckpoint() const {
    for (const v1::TrialEvent& event : events_)
      if (event.checkpoint().final()) return event.checkpoint();
    return std::nullopt;
  }
  // All log lines of the runner.
  std::string Logged() const {
    std::string text;
    for (const v1::TrialEvent& event : events_)
      if (event.has_log()) text += event.log().text() + "\n";
    return text;
  }
  std::filesystem::path root() const { return folder_ / "program"; }

  TemporaryFolder folder_;
  std::string user_;  // Of the program.
  std::string printed_;
  std::vector<v1::TrialEvent> events_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_WORKER_PROGRAMS_PROGRAM_FIXTURE_H_
