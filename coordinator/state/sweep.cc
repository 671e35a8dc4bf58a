#include "coordinator/state/sweep.h"

#include "base/check.h"
#include "coordinator/state/resources.h"

namespace inlier {

// A message taken apart is twenty times as large as its bytes, and a coordinator has the sweeps of years.
void Sweep::SetSpec(v1::SweepSpec whole) {
  v1::SweepSpec apart;
  apart.set_allocated_base(whole.release_base());
  apart.mutable_axes()->Swap(whole.mutable_axes());
  apart.mutable_exclude()->Swap(whole.mutable_exclude());
  apart.set_allocated_sampling(whole.release_sampling());
  apart.set_allocated_table(whole.release_table());
  if (whole.has_description()) apart.set_description(whole.description());
  whole.clear_description();
  plan = apart.SerializeAsString();
  spec = std::move(whole);
  request = RequestOf(spec.resources());
}

v1::SweepSpec Sweep::WholeSpec() const {
  v1::SweepSpec whole;
  INLIER_CHECK(whole.ParseFromString(plan));
  whole.MergeFrom(spec);
  return whole;
}

}  // namespace inlier
