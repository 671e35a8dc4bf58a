#include "coordinator/state/sweeps/sweep.h"

#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"

namespace inlier {
namespace {

using google::protobuf::util::MessageDifferencer;

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
  EXPECT_TRUE(MessageDifferencer::Equals(sweep.spec, other));
  EXPECT_EQ(sweep.request, ResourceRequest());
}

}  // namespace
}  // namespace inlier
