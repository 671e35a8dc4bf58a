// A real database in a temp folder, and short ways to fill it.
#ifndef INLIER_TESTS_COORDINATOR_STORE_STORE_FIXTURE_H_
#define INLIER_TESTS_COORDINATOR_STORE_STORE_FIXTURE_H_

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/status.h"
#include "coordinator/store/database.h"
#include "coordinator/store/query_guard.h"
#include "coordinator/store/reader.h"
#include "coordinator/store/store.h"
#include "tests/support/temporary_folder.h"

namespace inlier {

// Every row of an answer as text: values joined by "|", NULL as "NULL".
inline std::vector<std::string> RowTexts(const v1::QueryResponse& response) {
  std::vector<std::string> rows;
  for (const v1::QueryRow& row : response.rows()) {
    std::string text;
    for (int i = 0; i < row.values_size(); ++i) {
      const v1::QueryValue& value = row.values(i);
      if (i > 0) text += "|";
      switch (value.value_case()) {
        case v1::QueryValue::kInteger:
          text += std::to_string(value.integer());
          break;
        case v1::QueryValue::kReal: {
          char buffer[32];
          std::snprintf(buffer, sizeof(buffer), "%g", value.real());
          text += buffer;
          break;
        }
        case v1::QueryValue::kText:
          text += value.text();
          break;
        case v1::QueryValue::kBlob:
          text += "blob";
          break;
        default:
          text += "NULL";
      }
    }
    rows.push_back(text);
  }
  return rows;
}

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    Open();
    MustApply(DataRow{.id = DataId(1), .names = R"({"data":{"text":{"corpus":"kjv"}}})", .at = {1000}});
  }

  void Open() {
    database_ = Database::Open(folder_.path()).value();
    store_ = std::make_unique<Store>(*database_);
    reader_ = std::make_unique<Reader>(database_->path());
  }
  void Close() {
    people_.reset();
    reader_.reset();
    store_.reset();
    database_.reset();
  }
  void Reopen() {
    Close();
    Open();
  }

  template <typename... Changes>
  absl::StatusOr<ApplyStats> Apply(Changes... changes) {
    ChangeBatch batch;
    (batch.Add(std::move(changes)), ...);
    return store_->Apply(batch);
  }
  // Applies all of it, fencing nothing.
  template <typename... Changes>
  void MustApply(Changes... changes) {
    const auto stats = Apply(std::move(changes)...).value();
    ASSERT_EQ(stats.fenced, 0u);
    ASSERT_EQ(stats.rows, sizeof...(changes));
  }

  // People's SQL.
  absl::StatusOr<v1::QueryResponse> Query(const std::string& sql, const QueryLimits& limits = {}) {
    if (people_ == nullptr) {
      ASSIGN_OR_RETURN(people_, GuardedConnection::Open(database_->path()));
    }
    return people_->Query(sql, limits);
  }
  std::vector<std::string> Rows(const std::string& sql) {
    const absl::StatusOr<v1::QueryResponse> response = Query(sql);
    if (!response.ok()) return {response.status().ToString()};
    return RowTexts(*response);
  }

  // People's SQL to the database in a folder, which it opens.
  static std::vector<std::string> RowsIn(const std::filesystem::path& folder, const std::string& sql) {
    const auto database = Database::Open(folder).value();
    return RowTexts(GuardedConnection::Open(database->path()).value()->Query(sql).value());
  }
  // Changes rows past every constraint, trigger and foreign key.
  void Damage(const std::string& sql) {
    SQLite::Database& connection = database_->connection();
    const std::string drop = connection
                                 .execAndGet(
                                     "SELECT group_concat('DROP TRIGGER ' || name, ';') FROM sqlite_schema "
                                     "WHERE type = 'trigger'")
                                 .getString();
    connection.exec("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;" + drop + ";" + sql);
  }
  // Closes the database and damages pages that a copy takes along, and its check finds.
  void DamageDatabase() {
    Close();
    ASSERT_TRUE(Database::Open(folder_.path()).ok());  // Moves the log into the file.
    std::fstream file(folder_.path() / "inlier.db", std::ios::in | std::ios::out | std::ios::binary);
    for (int page = 1; page < 12; ++page) file.seekp(page * 4096) << std::string(300, '\xa5');
    ASSERT_TRUE(file.flush().good());
  }

  // Of the model that Checkpoint(token, step, ...) is of.
  static std::string ModelDigest(Token token, std::uint64_t step) {
    return Sha256Hex(std::to_string(token) + "-" + std::to_string(step));
  }

  static SweepRow Sweep(int id, const std::string& name = "gamma") {
    SweepRow sweep{.id = SweepId(id), .points = 4, .trials = 4, .submitted_at = {1000}};
    sweep.spec.set_name(name);
    sweep.spec.set_description("what gamma does");
    return sweep;
  }
  static StageRow Train(int id,
                        const std::string& spec =
                            R"({"seed":1,"attention":{"softmax":{"clipped":{"gamma":-0.03,"zeta":1.0}}}})") {
    return {.id = StageId(id),
            .kind = v1::TRAIN_STAGE,
            .fingerprint = ParseSha256Hex(Sha256Hex("f" + std::to_string(id))).value(),
            .train_stage = {},
            .data = DataId(1),
            .spec_json = spec};
  }
  static StageRow Evaluate(int id, int train,
                           const std::string& spec = R"({"evaluation":{"batch_size":32}})") {
    return {.id = StageId(id),
            .kind = v1::EVALUATE_STAGE,
            .fingerprint = ParseSha256Hex(Sha256Hex("f" + std::to_string(id))).value(),
            .train_stage = StageId(train),
            .spec_json = spec};
  }
  static TrialRow Trial(int id, int sweep, int point, int train, int evaluate,
                        const std::string& labels = R"({"gamma":"-0.03","seed":"1"})") {
    return {.id = TrialId(id),
            .sweep = SweepId(sweep),
            .point = static_cast<std::uint64_t>(point),
            .train_stage = StageId(train),
            .evaluate_stage = StageId(evaluate),
            .labels_json = labels};
  }
  static TrialChange TrialIs(int id, v1::TrialState state, const std::string& message = "") {
    return {.id = TrialId(id), .state = state, .message = message};
  }
  static AttemptRow Start(Token token, int stage, std::uint32_t number = 1, std::uint64_t resume_step = 0) {
    return {.token = token,
            .stage = StageId(stage),
            .number = number,
            .worker = "w-uuid",
            .slot = 0,
            .resume_step = resume_step,
            .started_at = {2000},
            .sweep = SweepId(1)};
  }
  static AttemptEnded End(Token token, v1::TrialState outcome) {
    return {.token = token, .outcome = outcome, .failure = {}, .message = "", .at = {5000}};
  }
  static AttemptEnded Fail(Token token, v1::FailureClass failure) {
    return {.token = token, .outcome = v1::FAILED, .failure = failure, .message = "it broke", .at = {5000}};
  }
  static MeasurementRow Point(Token token, const std::string& name, std::uint64_t step, double value) {
    return {
        .token = token, .name = name, .step = step, .value = value, .site = "", .final = false, .at = {3000}};
  }
  static MeasurementRow Final(Token token, const std::string& name, double value) {
    return {
        .token = token, .name = name, .step = 200, .value = value, .site = "", .final = true, .at = {3000}};
  }
  static CheckpointRow Checkpoint(Token token, std::uint64_t step, bool final) {
    return {.token = token,
            .step = step,
            .path = final ? ""
                          : "attempts/" + std::to_string(token) + "/" + std::to_string(step) + ".safetensors",
            .sha256 = ModelDigest(token, step),
            .bytes = 100,
            .final = final,
            .at = {3000}};
  }

  // Sweep 1 with trial 1: train stage 1, evaluate stage 2.
  void MustAddTrial() { MustApply(Sweep(1), Train(1), Evaluate(2, 1), Trial(1, 1, 0, 1, 2)); }
  // The same, and its training is live as attempt 1.
  void MustStart() {
    MustAddTrial();
    MustApply(Start(1, 1));
  }
  // The same, and it succeeds.
  void MustTrain() {
    MustStart();
    MustApply(Checkpoint(1, 200, true), End(1, v1::SUCCEEDED));
  }

  TemporaryFolder folder_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Reader> reader_;
  std::unique_ptr<GuardedConnection> people_;
};

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_STORE_STORE_FIXTURE_H_
