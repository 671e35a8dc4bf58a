// The real inlier-trial as a child, for tests that run whole attempts.
#ifndef INLIER_TESTS_CORE_TRIAL_TRIAL_PROGRAM_H_
#define INLIER_TESTS_CORE_TRIAL_TRIAL_PROGRAM_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "nlohmann/json.hpp"
#include "tests/core/trial/child_process.h"
#include "tests/support/temporary_folder.h"

namespace inlier {

inline constexpr char kTrialSpec[] = R"(
  seed: 3
  model { bert { layers: 2 hidden_size: 32 heads: 2 ffn_size: 64 } }
  dropout: 0.1
  data { text { tokenizer { byte_pair { vocab_size: 300 } } sequence_length: 16 validation_fraction: 0.1 } }
  training { steps: 12 batch_size: 4 checkpoint_every: 5 measure_every: 4 }
  evaluation { batches: 2 batch_size: 4 })";

class TrialProgramTest : public testing::Test {
 protected:
  // An attempt in folder_/<name>; `changes` to the TrialSpec in text format.
  v1::AttemptSpec Attempt(v1::StageKind kind, const std::string& name, const std::string& changes = "") {
    v1::AttemptSpec attempt;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kTrialSpec, attempt.mutable_spec()));
    v1::TrialSpec more;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(changes, &more)) << changes;
    attempt.mutable_spec()->MergeFrom(more);
    if (attempt.spec().data().has_text() && !attempt.spec().data().text().has_corpus())
      attempt.mutable_spec()->mutable_data()->mutable_text()->set_path(INLIER_TINY_TEXT);
    attempt.set_stage_id("stage");
    attempt.set_token(1);
    attempt.set_kind(kind);
    attempt.set_output_dir(folder_ / name);
    attempt.set_data_dir(folder_ / "data");
    attempt.set_cache_dir(folder_ / "cache");
    attempt.set_threads(1);
    attempt.set_device("cpu");
    return attempt;
  }

  // Its path.
  std::string WriteSpec(const v1::AttemptSpec& attempt, const std::string& name = "spec.json") {
    std::string json;
    EXPECT_TRUE(google::protobuf::util::MessageToJsonString(attempt, &json).ok());
    std::ofstream(folder_ / name) << json;
    return folder_ / name;
  }
  std::unique_ptr<TrialChild> Start(const v1::AttemptSpec& attempt) {
    return StartWith({WriteSpec(attempt)});
  }
  std::unique_ptr<TrialChild> StartWith(const std::vector<std::string>& arguments) {
    return std::make_unique<TrialChild>(INLIER_TRIAL_PROGRAM, arguments, folder_ / "log");
  }

  struct Ended {
    std::vector<v1::TrialEvent> events;
    v1::Outcome outcome;
    int exit_code;
  };
  Ended Finish(TrialChild& child) {
    Ended ended;
    ended.events = child.Rest();
    ended.exit_code = child.Wait();
    if (!ended.events.empty()) ended.outcome = ended.events.back().outcome();
    EXPECT_TRUE(!ended.events.empty() && ended.events.back().has_outcome()) << Log();
    return ended;
  }
  Ended RunToEnd(const v1::AttemptSpec& attempt) { return Finish(*Start(attempt)); }

  // Runs an attempt that must fail as INVALID_SPEC or another class, and returns its message.
  std::string FailureOf(const v1::AttemptSpec& attempt, v1::FailureClass failure) {
    const Ended ended = RunToEnd(attempt);
    EXPECT_EQ(ended.outcome.kind(), v1::Outcome::FAILED);
    EXPECT_EQ(ended.outcome.failure(), failure) << ended.outcome.message();
    EXPECT_EQ(ended.exit_code, 1);
    return ended.outcome.message();
  }

  // The output of `inlier-trial numbers` for the model in folder_/<name>.
  nlohmann::json Numbers(const std::string& name, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"numbers", folder_ / name / "model.safetensors", folder_ / "data", folder_ / "cache"});
    EXPECT_EQ(StartWith(arguments)->Wait(), 0) << Log();
    const std::string log = Log();
    return nlohmann::json::parse(log.substr(std::min(log.size(), log.find('{'))), nullptr, false);
  }

  std::string Log() {
    std::stringstream text;
    text << std::ifstream(folder_ / "log").rdbuf();
    return text.str();
  }

  const TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
};

inline std::map<std::string, double> FinalMeasurements(const std::vector<v1::TrialEvent>& events) {
  std::map<std::string, double> values;
  for (const v1::TrialEvent& event : events) {
    const v1::MeasurementPoint& point = event.measurement();
    if (event.has_measurement() && point.final() && !point.has_site()) values[point.name()] = point.value();
  }
  return values;
}

inline std::vector<v1::CheckpointSaved> Checkpoints(const std::vector<v1::TrialEvent>& events) {
  std::vector<v1::CheckpointSaved> saved;
  for (const v1::TrialEvent& event : events) {
    if (event.has_checkpoint()) saved.push_back(event.checkpoint());
  }
  return saved;
}

inline std::optional<v1::Started> StartedOf(const std::vector<v1::TrialEvent>& events) {
  for (const v1::TrialEvent& event : events) {
    if (event.has_started()) return event.started();
  }
  return std::nullopt;
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_TRIAL_TRIAL_PROGRAM_H_
