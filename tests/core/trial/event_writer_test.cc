// The lines for the worker, through a real pipe.
#include "core/trial/event_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <vector>

#include "google/protobuf/util/json_util.h"

namespace inlier {
namespace {

class EventWriterTest : public testing::Test {
 protected:
  EventWriterTest() { EXPECT_EQ(::pipe(ends_), 0); }
  ~EventWriterTest() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  // Everything written so far, by line. A test's output fits into the pipe.
  std::vector<std::string> Lines() {
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    std::string text;
    char buffer[4096];
    for (ssize_t got; (got = ::read(ends_[0], buffer, sizeof(buffer))) > 0;)
      text.append(buffer, static_cast<std::size_t>(got));
    std::vector<std::string> lines;
    for (std::size_t start = 0, end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
      lines.push_back(text.substr(start, end - start));
    }
    return lines;
  }

  v1::TrialEvent Parse(const std::string& line) {
    v1::TrialEvent event;
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(line, &event).ok()) << line;
    return event;
  }

  int ends_[2];
};

v1::Progress ProgressOf(const std::string& phase, std::uint64_t step, std::uint64_t total) {
  v1::Progress progress;
  progress.set_phase(phase);
  progress.set_step(step);
  progress.set_steps_total(total);
  return progress;
}

TEST_F(EventWriterTest, OneEventIsOneLineWithTheNamesOfTheProtoFile) {
  EventWriter writer(ends_[1]);
  v1::Started started;
  started.set_torch_version("2.13.0");
  started.set_dataset_digest("ab\ncd");
  writer.OnStarted(started);
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], testing::HasSubstr("\"torch_version\":\"2.13.0\""));
  const v1::TrialEvent event = Parse(lines[0]);
  EXPECT_EQ(event.started().dataset_digest(), "ab\ncd");
  EXPECT_GT(event.time_unix_ms(), 1'600'000'000'000);
}

TEST_F(EventWriterTest, NumbersThatAreNotFiniteSurvive) {
  EventWriter writer(ends_[1]);
  for (double value :
       {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    v1::MeasurementPoint point;
    point.set_name("train_loss");
    point.set_value(value);
    writer.OnMeasurement(point);
  }
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_TRUE(std::isnan(Parse(lines[0]).measurement().value()));
  EXPECT_EQ(Parse(lines[1]).measurement().value(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(Parse(lines[2]).measurement().value(), -std::numeric_limits<double>::infinity());
}

TEST_F(EventWriterTest, ProgressIsThinnedButEachPhasesFirstAndLastPass) {
  EventWriter writer(ends_[1]);
  const Timestamp began = MonotonicNow();
  for (std::uint64_t step = 1; step <= 100; ++step) writer.OnProgress(ProgressOf("train", step, 100));
  writer.OnProgress(ProgressOf("evaluate", 1, 2));
  const double seconds = ToSeconds(MonotonicNow() - began);
  std::vector<std::uint64_t> steps;
  int log_lines = 0;
  for (const std::string& line : Lines()) {
    const v1::TrialEvent event = Parse(line);
    if (event.has_progress()) {
      steps.push_back(event.progress().step());
    } else {
      EXPECT_EQ(event.log().text(), "train 100/100 (100 %)");
      ++log_lines;
    }
  }
  EXPECT_EQ(log_lines, 1);
  ASSERT_GE(steps.size(), 3u);
  EXPECT_LE(static_cast<double>(steps.size()), 3 + 4 * seconds);  // Four lines a second, besides those.
  EXPECT_EQ(steps.front(), 1u);
  EXPECT_EQ(steps[steps.size() - 2], 100u);
  EXPECT_EQ(steps.back(), 1u);
}

TEST_F(EventWriterTest, ReaderThatWentAwayIsNoticedWithoutASignal) {
  ::signal(SIGPIPE, SIG_IGN);
  EventWriter writer(ends_[1]);
  EXPECT_FALSE(writer.broken());
  ::close(ends_[0]);
  writer.Log("anybody there?");
  EXPECT_TRUE(writer.broken());
  ends_[0] = ::open("/dev/null", O_RDONLY);
}

TEST_F(EventWriterTest, OnlyDescriptorsOpenForWritingCount) {
  EXPECT_TRUE(EventWriter::IsWritable(ends_[1]));
  EXPECT_FALSE(EventWriter::IsWritable(ends_[0]));
  EXPECT_FALSE(EventWriter::IsWritable(987));
}

}  // namespace
}  // namespace inlier
