#include "coordinator/search/search.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "coordinator/status/explain.h"
#include "tests/coordinator/harness.h"
#include "tests/coordinator/invariants.h"
#include "tests/support/status_matchers.h"

namespace inlier {
namespace {

using testing::HasSubstr;

class SearchTest : public OneWorkerTest {
 protected:
  // Batch sizes are searched, each with two seeds.
  static v1::SweepSpec Searched(std::uint32_t trials) {
    v1::SweepSpec spec = SmallSweep("s", 2);
    spec.mutable_axes()->DeleteSubrange(1, 1);
    spec.mutable_axes(0)->set_each(true);
    v1::Axis& size = *spec.add_axes();
    size.set_field("training.batch_size");
    size.mutable_range()->set_min(1);
    size.mutable_range()->set_max(64);
    v1::OptunaSampling& search = *spec.mutable_sampling()->mutable_optuna();
    search.set_trials(trials);
    search.add_objectives()->set_measurement("perplexity");
    return spec;
  }
  static v1::ExtendSweepRequest Extension(SweepId sweep, std::uint32_t first,
                                          const std::vector<double>& sizes, const std::string& id = "") {
    auto request = OfSweep<v1::ExtendSweepRequest>(sweep);
    request.set_first(first);
    request.set_request_id(id);
    for (const double size : sizes)
      (*request.add_points()->mutable_values()->mutable_fields())["batch_size"].set_number_value(size);
    return request;
  }
  absl::StatusOr<std::uint32_t> Extend(std::uint32_t first, const std::vector<double>& sizes,
                                       const std::string& id = "") {
    const auto response = harness.Ask(&ExtendSweep, Extension(sweep, first, sizes, id));
    if (!response.ok()) return response.status();
    return response->asked();
  }
  std::string Refused(std::uint32_t first, const std::vector<double>& sizes) {
    return std::string(Extend(first, sizes).status().message());
  }
  v1::Search Seen(std::uint32_t first = 0) {
    auto request = OfSweep<v1::GetSearchRequest>(sweep);
    request.set_first(first);
    return GetSearch(harness.state(), request, "").value();
  }
};

TEST_F(SearchTest, PointsRunAsTheyAreAskedForAndTheSweepEndsWithTheLast) {
  sweep = harness.Submit(Searched(3));
  worker = HandWorker("w", 2);
  EXPECT_EQ(RunAll(harness, worker), 0u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::ACTIVE);
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 6u);
  EXPECT_EQ(harness.Status(sweep).to_ask(), 3u);
  EXPECT_EQ(Extend(0, {8}).value(), 1u);
  EXPECT_EQ(RunAll(harness, worker), 4u);  // Two seeds, train and evaluate.
  harness.Restart();
  EXPECT_EQ(RunAll(harness, worker), 0u);
  ASSERT_EQ(Seen().points_size(), 1);
  EXPECT_TRUE(Seen().points(0).made());
  EXPECT_EQ(Seen().points(0).trials_size(), 2);
  EXPECT_EQ(Seen().points(0).trials(1).state(), v1::SUCCEEDED);
  EXPECT_EQ(Seen(1).points_size(), 0);
  // The same size again is a point without trials.
  EXPECT_EQ(Extend(1, {8, 16}).value(), 3u);
  EXPECT_EQ(harness.Status(sweep).trials().pending(), 2u);
  EXPECT_EQ(RunAll(harness, worker), 4u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 4u);
  EXPECT_EQ(Seen().points(1).trials_size(), 0);
  EXPECT_EQ(harness.Query("SELECT number, point_values, told FROM search_points ORDER BY number"),
            "0|{\"batch_size\":8}|[]\n1|{\"batch_size\":8}|[]\n2|{\"batch_size\":16}|[]\n");
  EXPECT_THAT(Refused(3, {32}), HasSubstr("has ended (COMPLETE)"));
  harness.Restart();
}

TEST_F(SearchTest, ARepeatedRequestHasItsFirstAnswerAndASecondSamplerIsRefused) {
  sweep = harness.Submit(Searched(4));
  EXPECT_EQ(Extend(0, {8}, "first").value(), 1u);
  EXPECT_EQ(Extend(0, {8}, "first").value(), 1u);
  harness.Restart();
  EXPECT_EQ(Extend(0, {8}, "first").value(), 1u);
  EXPECT_EQ(Extend(0, {9}, "first").status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(Refused(0, {9}),
              HasSubstr("has 1 points, and the first of these is number 0: another sampler"));
  EXPECT_EQ(Seen().asked(), 1u);
}

TEST_F(SearchTest, WhatTheSweepCannotHaveChangesNothing) {
  sweep = harness.Submit(Searched(2));
  EXPECT_THAT(Refused(0, {8, 99}), HasSubstr("points[1].values.batch_size: 99 is above max 64"));
  EXPECT_THAT(Refused(0, {8, 9, 10}), HasSubstr("has 2 points at most, and would have 3"));
  EXPECT_THAT(Refused(0, {}), HasSubstr("are none or too many"));
  auto told = Extension(sweep, 0, {8});
  told.mutable_points(0)->add_told(0);
  EXPECT_THAT(std::string(harness.Ask(&ExtendSweep, told).status().message()),
              HasSubstr("points[0].told: names a point that was not asked for before"));
  EXPECT_EQ(Seen().asked(), 0u);
  EXPECT_EQ(harness.Query("SELECT count(*) FROM search_points"), "0\n");
  const SweepId plain = harness.Submit(SmallSweep("plain", 1));
  EXPECT_THAT(std::string(harness.Ask(&ExtendSweep, Extension(plain, 0, {8})).status().message()),
              HasSubstr("has no sampling.optuna"));
}

TEST_F(SearchTest, AnEditRaisesAndLowersHowManyPointsAreWanted) {
  sweep = harness.Submit(Searched(2));
  worker = HandWorker("w", 2);
  EXPECT_EQ(Extend(0, {8, 16}).value(), 2u);
  RunAll(harness, worker);
  ASSERT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  EXPECT_EQ(harness.EditSweep(sweep, Searched(4)).value().added(), 4u);
  EXPECT_EQ(harness.Status(sweep).state(), v1::ACTIVE);
  harness.Restart();
  EXPECT_EQ(Extend(2, {24}).value(), 3u);
  EXPECT_EQ(RunAll(harness, worker), 4u);
  EXPECT_THAT(std::string(harness.EditSweep(sweep, Searched(2)).status().message()),
              HasSubstr("sampling.optuna.trials"));
  EXPECT_TRUE(harness.EditSweep(sweep, Searched(3)).ok());
  RunAll(harness, worker);
  EXPECT_EQ(harness.Status(sweep).state(), v1::COMPLETE);
  EXPECT_EQ(harness.Status(sweep).trials().succeeded(), 6u);
  harness.Restart();
}

TEST_F(SearchTest, ASamplingIsNotEditedSilently) {
  sweep = harness.Submit(Searched(2));
  v1::SweepSpec other = Searched(2);
  other.mutable_sampling()->mutable_optuna()->set_seed(7);
  EXPECT_THAT(std::string(harness.EditSweep(sweep, other).status().message()),
              HasSubstr("sampling: the points of"));
}

TEST_F(SearchTest, WhyNamesTheSampler) {
  sweep = harness.Submit(Searched(2));
  EXPECT_EQ(Extend(0, {8}).value(), 1u);
  const auto why = Explain(harness.state(), OfSweep<v1::ExplainRequest>(sweep), harness.now(), "").value();
  EXPECT_THAT(why.ShortDebugString(),
              HasSubstr("1 of 2 points were asked for; a sampler asks for the others"));
}

}  // namespace
}  // namespace inlier
