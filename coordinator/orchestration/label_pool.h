// The labels of trials that may still be spoken of, each in a few bytes: the names of the axes are kept once.
//
// Thread safety: none.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_LABEL_POOL_H_
#define INLIER_COORDINATOR_ORCHESTRATION_LABEL_POOL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proto/spec/sweep_grid.h"

namespace inlier {

using PackedLabels = std::unique_ptr<char[]>;  // Null: no labels.

class LabelPool {
 public:
  // Lists of names are remembered for ever; there are as many as grids differ in their axes.
  PackedLabels Pack(const PointLabels& labels);
  PointLabels Unpack(const PackedLabels& packed) const;

 private:
  std::vector<std::vector<std::string>> names_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_LABEL_POOL_H_
