// Measurements as people see them while their attempts run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/status/status.h"
#include "coordinator/status/work.h"
#include "tests/coordinator/harness.h"

namespace inlier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// "max_inf_norm=20" of each latest point of the sweep's only attempt.
std::vector<std::string> Latest(Harness& harness, SweepId sweep) {
  const v1::SweepUpdate update = harness.Describe(sweep);
  EXPECT_EQ(update.running_size(), 1);
  std::vector<std::string> points;
  for (const v1::MeasurementPoint& point : update.running(0).latest())
    points.push_back(point.name() + "=" + std::to_string(static_cast<int>(point.value())));
  return points;
}

// "perplexity W8A8: best 12, latest 13".
std::vector<std::string> Values(Harness& harness, SweepId sweep) {
  std::vector<std::string> texts;
  for (const SweepValue& value : harness.state().sweeps.at(sweep).values.all()) {
    texts.push_back(value.name + " " + value.setting + ": best " +
                    std::to_string(static_cast<int>(value.best)) + ", latest " +
                    std::to_string(static_cast<int>(*value.latest)));
  }
  return texts;
}

using LivePointsTest = OneWorkerTest;

TEST_F(LivePointsTest, TheLatestPointOfEachCurveOfTheWholeModelIsShown) {
  const Token token = Lease();
  EXPECT_THAT(Latest(harness, sweep), IsEmpty());
  worker.Emit(token, MeasurementEvent("train_loss", 6, false));
  worker.Emit(token, MeasurementEvent("max_inf_norm", 20, false));
  worker.Emit(token, MeasurementEvent("train_loss", 5, false));
  v1::TrialEvent of_a_module = MeasurementEvent("inf_norm", 7, false);
  of_a_module.mutable_measurement()->set_site("layers.0");
  harness.Report(worker, token, of_a_module);
  EXPECT_THAT(Latest(harness, sweep), ElementsAre("max_inf_norm=20", "train_loss=5"));
  EXPECT_THAT(Values(harness, sweep), ElementsAre("max_inf_norm FLOAT: best 20, latest 20"));

  harness.Restart(worker);
  EXPECT_THAT(Latest(harness, sweep), IsEmpty());
  EXPECT_THAT(Values(harness, sweep), IsEmpty());
  harness.Report(worker, token, MeasurementEvent("train_loss", 4, false));
  EXPECT_THAT(Latest(harness, sweep), ElementsAre("train_loss=4"));
}

TEST_F(LivePointsTest, ResultsCountForTheSettingThatTheyMeasure) {
  v1::SweepSpec spec = SmallSweep("s", 2, {8});
  spec.mutable_base()->mutable_quantization()->mutable_activations()->set_bits(8);
  sweep = harness.Submit(spec);
  worker = HandWorker("w", 2);
  for (int round = 0; round < 2; ++round) {  // The trainings, then one evaluation.
    harness.Tick();
    harness.Sync(worker);
    harness.Sync(worker);
    while (round == 0 && !worker.running().empty()) worker.Finish(worker.running().begin()->first);
  }
  harness.Sync(worker);
  ASSERT_EQ(worker.running().size(), 2u);
  const Token first = worker.running().begin()->first, second = worker.running().rbegin()->first;
  worker.Emit(first, MeasurementEvent("perplexity", 12, true));
  harness.Report(worker, second, MeasurementEvent("perplexity", 15, true));
  EXPECT_THAT(Values(harness, sweep), ElementsAre("perplexity W8A8: best 12, latest 15"));
  worker.Emit(first, OutcomeEvent(v1::Outcome::SUCCEEDED));
  harness.Report(worker, second, OutcomeEvent(v1::Outcome::SUCCEEDED));
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  EXPECT_THAT(Values(harness, sweep), ElementsAre("perplexity W8A8: best 12, latest 15"));
}

TEST_F(LivePointsTest, TheWorkOfManySweepsIsThatOfEach) {
  const SweepId first = harness.Submit(SmallSweep("first", 2));
  const SweepId second = harness.Submit(SmallSweep("second", 3));  // Two of its trainings are the first's.
  worker = harness.Connect("w", 3);
  std::uint64_t step = 10;
  for (const auto& [token, assignment] : worker.running()) worker.SetProgress(token, "train", step *= 2);
  harness.Sync(worker);
  const State& state = harness.state();
  const std::map<SweepId, SweepWork> work = WorkOf(state, {first, second});
  ASSERT_EQ(work.size(), 2u);
  for (const auto& [id, of] : work) {
    const v1::SweepUpdate update = DescribeSweep(state, id, harness.now(), 0);
    EXPECT_GT(of.done, 0);
    EXPECT_DOUBLE_EQ(of.done, update.work_done());
    ASSERT_TRUE(of.seconds_left);
    EXPECT_DOUBLE_EQ(*of.seconds_left, update.seconds_left());
  }
  EXPECT_NE(work.at(first).done, work.at(second).done);
}

using WorkerGpusTest = OneWorkerTest;

TEST_F(WorkerGpusTest, TheLatestReadingsOfAWorkerAreListedUntilThereAreNewOnes) {
  const auto sync = [&](double utilization, int count) {
    v1::WorkerSync message = worker.Sync();
    for (int i = 0; i < count; ++i) {
      v1::DeviceReading& gpu = *message.add_gpus();
      gpu.set_device("cuda:" + std::to_string(i));
      gpu.set_name("Bytes \xff");
      gpu.set_utilization(utilization);
    }
    ASSERT_TRUE(harness.TrySync(message).ok());
  };
  const auto shown = [&] { return ListWorkers(harness.state()).workers(0); };
  sync(0.5, 1);
  sync(0, 0);  // Nothing new.
  ASSERT_EQ(shown().gpus_size(), 1);
  EXPECT_EQ(shown().gpus(0).utilization(), 0.5);
  EXPECT_EQ(shown().gpus(0).name(), "Bytes \xef\xbf\xbd");
  sync(0.75, 1000);
  EXPECT_EQ(shown().gpus_size(), WorkerEntry::kGpusMax);
  EXPECT_EQ(shown().gpus(0).utilization(), 0.75);
  EXPECT_FALSE(shown().has_machine());
}

TEST_F(WorkerGpusTest, TheMachineIsListedAndRememberedAsTheDeviceCpu) {
  v1::WorkerSync message = worker.Sync();
  message.mutable_machine()->set_device("cuda:0");
  message.mutable_machine()->set_name("\xff");
  message.mutable_machine()->set_utilization(0.25);
  ASSERT_TRUE(harness.TrySync(message).ok());
  const v1::WorkerStatus shown = ListWorkers(harness.state()).workers(0);
  EXPECT_EQ(shown.machine().ShortDebugString(), "device: \"cpu\" utilization: 0.25");
  v1::GetDeviceTracksRequest request;
  request.set_worker(shown.incarnation());
  const v1::DeviceTracks tracks = harness.state().workers.devices().Tracks(request);
  ASSERT_EQ(tracks.devices_size(), 1);
  EXPECT_EQ(tracks.devices(0).device(), "cpu");
  EXPECT_EQ(tracks.devices(0).utilization(0), 0.25);
}

}  // namespace
}  // namespace inlier
