#include "coordinator/state/sweep.h"

#include "coordinator/state/trial.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "spec/sweep/sweep_reader.h"

namespace inlier {
namespace {

using google::protobuf::util::MessageDifferencer;

TEST(SweepModelTest, SpecificationComesBackWholeAndTheLargePartIsNotKeptApart) {
  const auto whole = ReadSweepText(R"(
name: all
description: what it is for
base: {model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: 70}}
axes: [{field: seed, values: [1, 2]}, {field: training.optimizer.adamw.learning_rate, range: {min: 0.001, max: 0.1}}]
sampling: {random: {trials: 4}}
priority: 3
resources: {memory_mib: 500}
table: {rows: [seed], columns: [{measurement: perplexity}]}
)",
                                   "all.yaml");
  ASSERT_TRUE(whole.ok()) << whole.status();
  Sweep sweep;
  sweep.SetSpec(*whole);
  EXPECT_TRUE(MessageDifferencer::Equals(sweep.WholeSpec(), *whole)) << sweep.WholeSpec().DebugString();
  EXPECT_EQ(sweep.spec.name(), "all");
  EXPECT_EQ(sweep.spec.priority(), 3);
  EXPECT_FALSE(sweep.spec.has_base() || sweep.spec.has_table() || sweep.spec.has_sampling());
  EXPECT_EQ(sweep.spec.axes_size() + sweep.spec.exclude_size(), 0);
  EXPECT_EQ(sweep.request.memory_mib, 500u);
}

TEST(SweepModelTest, AnEditedSpecificationTakesThePlaceOfTheOneBefore) {
  v1::SweepSpec spec;
  spec.set_name("one");
  spec.add_axes()->set_field("seed");
  spec.mutable_resources()->set_memory_mib(7);
  Sweep sweep;
  sweep.SetSpec(spec);
  v1::SweepSpec other;
  other.set_name("two");
  sweep.SetSpec(other);
  EXPECT_TRUE(MessageDifferencer::Equals(sweep.WholeSpec(), other));
  EXPECT_EQ(sweep.request, ResourceRequest());
}

}  // namespace
}  // namespace inlier
