#include "coordinator/services/request_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "coordinator/store/sweep_json.h"
#include "inlier/v1/sweep_service.pb.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using testing::HasSubstr;

std::string Refusal(const absl::Status& status) {
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(RequestLimitsTest, OrdinaryRequestsAreWithinThem) {
  EXPECT_TRUE(CheckLimits(SmallSweep("s", 100, {8, 6, 4})).ok());
  EXPECT_TRUE(CheckLimits(HandWorker("w", 8).Sync()).ok());
  v1::CancelRequest cancel;
  cancel.set_sweep("s-1");
  EXPECT_TRUE(CheckWords(cancel).ok());
}

// Each trial in memory keeps its specification: a value of a megabyte would be there a hundred thousand
// times.
TEST(RequestLimitsTest, DataKeptByEveryTrialIsBounded) {
  v1::SweepSpec sweep = SmallSweep("s", 2);
  sweep.mutable_axes(0)->add_values()->set_string_value(std::string(40'000, 'x'));
  EXPECT_TRUE(CheckLimits(sweep).ok());
  sweep.mutable_axes(1)->add_values()->set_string_value(std::string(40'000, 'y'));
  EXPECT_THAT(
      Refusal(CheckLimits(sweep)),
      testing::MatchesRegex("base and the largest value of each axis: 80[0-9]+ bytes; at most 65536 are "
                            "taken; every trial keeps so much; shorten the texts in them"));
}

TEST(RequestLimitsTest, ListsOfASweepAreBounded) {
  v1::SweepSpec axes = SmallSweep("s", 1);
  for (int i = 0; i < 63; ++i) *axes.add_axes() = NumberAxis("seed", {1});
  EXPECT_EQ(Refusal(CheckLimits(axes)), "axes: 65 axes; at most 64 are taken; split the sweep");
  v1::SweepSpec values = SmallSweep("s", 1);
  for (int i = 0; i < 100'000; ++i) values.mutable_axes(0)->add_values()->set_number_value(i);
  EXPECT_EQ(Refusal(CheckLimits(values)),
            "axes[0]: 100001 values; at most 100000 are taken; split the sweep");
  v1::SweepSpec exclude = SmallSweep("s", 1);
  for (int i = 0; i < 10'001; ++i) exclude.add_exclude();
  EXPECT_THAT(Refusal(CheckLimits(exclude)), HasSubstr("exclude: 10001 entries; at most 10000"));
  v1::SweepSpec ties = SmallSweep("s", 1);
  (*ties.mutable_tied())[std::string(257, 'x')] = "seed";
  EXPECT_EQ(Refusal(CheckLimits(ties)), "tied: 257 bytes; at most 256 are taken; shorten it");
  ties.clear_tied();
  (*ties.mutable_tied())["\xff"] = "seed";
  EXPECT_EQ(Refusal(CheckLimits(ties)), "tied: byte 1 is not UTF-8; save it as UTF-8");
  v1::SweepSpec program = SmallSweep("s", 1);
  std::string& diff = *program.mutable_program()->mutable_source()->mutable_diff();
  diff = std::string(256 << 10, 'x');
  EXPECT_EQ(CheckLimits(program), absl::OkStatus());
  diff += "\xff";
  EXPECT_EQ(Refusal(CheckLimits(program)), "program.source.diff: byte 262145 is not UTF-8; save it as UTF-8");
  diff = std::string((1 << 20) + 1, 'x');
  EXPECT_THAT(Refusal(CheckLimits(program)),
              HasSubstr("program.source.diff: 1048577 bytes; at most 1048576"));
  v1::SweepSpec conditions = SmallSweep("s", 1);
  google::protobuf::Value many;
  for (int i = 0; i < 5000; ++i) many.mutable_list_value()->add_values()->set_number_value(i);
  for (int i = 0; i < 2; ++i) (*conditions.mutable_table()->add_columns()->mutable_where())["seed"] = many;
  EXPECT_THAT(Refusal(CheckLimits(conditions)),
              HasSubstr("table.where and table.columns: 10002 conditions, names and values; at most 10000"));
  v1::SweepSpec columns = SmallSweep("s", 1);
  for (int i = 0; i < 1001; ++i) columns.mutable_table()->add_columns();
  EXPECT_THAT(Refusal(CheckLimits(columns)), HasSubstr("table.columns: 1001 columns; at most 1000"));
  v1::SweepSpec correlations = SmallSweep("s", 1);
  for (int i = 0; i < 101; ++i) correlations.mutable_table()->add_correlate();
  EXPECT_THAT(Refusal(CheckLimits(correlations)),
              HasSubstr("table.correlate: 101 correlations; at most 100"));
  v1::SweepSpec rows = SmallSweep("s", 1);
  for (int i = 0; i < 65; ++i) rows.mutable_table()->add_rows("seed");
  EXPECT_THAT(Refusal(CheckLimits(rows)), HasSubstr("table.rows: 65 axes; at most 64"));
}

TEST(RequestLimitsTest, TextsOfASweepAreBounded) {
  v1::SweepSpec name = SmallSweep(std::string(257, 'n'), 1);
  EXPECT_EQ(Refusal(CheckLimits(name)), "name: 257 bytes; at most 256 are taken; shorten it");
  v1::SweepSpec group = SmallSweep("s", 1);
  group.set_group(std::string(257, 'g'));
  EXPECT_THAT(Refusal(CheckLimits(group)), HasSubstr("group: 257 bytes"));
  v1::SweepSpec label = SmallSweep("s", 1);
  label.mutable_axes(1)->add_variants()->set_label(std::string(300, 'l'));
  EXPECT_THAT(Refusal(CheckLimits(label)), HasSubstr("axes[1].variants.label: 300 bytes"));
  v1::SweepSpec description = SmallSweep("s", 1);
  description.set_description(std::string(70'000, 'd'));
  EXPECT_THAT(Refusal(CheckLimits(description)), HasSubstr("description: 70000 bytes; at most 65536"));
  description.set_description(std::string(9 << 20, 'd'));
  EXPECT_THAT(Refusal(CheckLimits(description)), HasSubstr("bytes; at most 8388608 are taken; split it"));
}

// The store keeps a sweep as JSON.
TEST(RequestLimitsTest, ValuesOfASweepFitIntoJson) {
  v1::SweepSpec infinite = SmallSweep("s", 1);
  (*infinite.add_exclude()->mutable_match())["seed"].set_number_value(
      std::numeric_limits<double>::infinity());
  EXPECT_EQ(Refusal(CheckLimits(infinite)), "exclude: a number is not finite; give a finite one");
  v1::SweepSpec deep = SmallSweep("s", 1);
  google::protobuf::Value* value = deep.mutable_axes(0)->add_values();
  for (int i = 0; i < 23; ++i) value = value->mutable_list_value()->add_values();
  EXPECT_TRUE(CheckLimits(deep).ok()) << CheckLimits(deep);
  EXPECT_TRUE(SweepSpecToJson(deep).ok()) << SweepSpecToJson(deep).status();
  EXPECT_TRUE(SweepSpecFromJson(*SweepSpecToJson(deep)).ok());
  value->mutable_list_value()->add_values();
  EXPECT_EQ(Refusal(CheckLimits(deep)), "axes: values nested more than 48 deep; make them flatter");
}

TEST(RequestLimitsTest, TextsOfPeopleAreUtf8) {
  EXPECT_EQ(Refusal(CheckLimits(SmallSweep("gr\xf6sse", 1))), "name: byte 3 is not UTF-8; save it as UTF-8");
  v1::SweepSpec description = SmallSweep("s", 1);
  description.set_description("\xff");
  EXPECT_EQ(Refusal(CheckLimits(description)), "description: byte 1 is not UTF-8; save it as UTF-8");
  v1::PauseSweepRequest pause;
  pause.set_sweep("s-\xff");
  EXPECT_EQ(Refusal(CheckWords(pause)), "sweep: byte 3 is not UTF-8; save it as UTF-8");
}

// The reports of a worker on its attempts stay in memory while they live.
TEST(RequestLimitsTest, ReportsOfAWorkerAreBounded) {
  HandWorker worker("w", 1);
  v1::WorkerSync slots = worker.Sync();
  for (int i = 0; i < 1024; ++i) slots.add_slots();
  EXPECT_EQ(Refusal(CheckLimits(slots)), "slots: 1025 slots; at most 1024 are taken; run several workers");
  v1::WorkerSync attempts = worker.Sync();
  for (int i = 0; i < 4097; ++i) attempts.add_attempts();
  EXPECT_THAT(Refusal(CheckLimits(attempts)), HasSubstr("attempts: 4097 attempts; at most 4096"));
  v1::WorkerSync events = worker.Sync();
  for (int i = 0; i < 10'001; ++i) events.add_events();
  EXPECT_EQ(Refusal(CheckLimits(events)),
            "events: 10001 events; at most 10000 are taken; send the rest with the next sync");
  v1::WorkerSync phase = worker.Sync();
  phase.add_attempts()->mutable_progress()->set_phase(std::string(1000, 'p'));
  EXPECT_THAT(Refusal(CheckLimits(phase)), HasSubstr("attempts.progress.phase: 1000 bytes"));
  v1::WorkerSync device = worker.Sync();
  device.mutable_slots(0)->set_device(std::string(1000, 'd'));
  EXPECT_THAT(Refusal(CheckLimits(device)), HasSubstr("slots.device: 1000 bytes"));
  v1::WorkerSync started = worker.Sync();
  started.add_events()->mutable_event()->mutable_started()->set_build(std::string(5000, 'b'));
  EXPECT_THAT(Refusal(CheckLimits(started)), HasSubstr("events.started: 5000 bytes; at most 4096"));
  v1::WorkerSync folder = worker.Sync();
  folder.set_data_dir(std::string(5000, 'f'));
  EXPECT_THAT(Refusal(CheckLimits(folder)), HasSubstr("data_dir: 5000 bytes"));
}

TEST(RequestLimitsTest, WordsOfARequestAreBoundedAndSqlIsNotOne) {
  v1::PauseSweepRequest pause;
  pause.set_sweep(std::string(2000, 's'));
  EXPECT_EQ(Refusal(CheckWords(pause)),
            "sweep: 2000 bytes; at most 1024 are taken; give an id such as s-12, or a name");
  v1::QueryRequest query;
  query.set_sql(std::string(2000, ' '));
  EXPECT_TRUE(CheckWords(query).ok());
}

}  // namespace
}  // namespace inlier
