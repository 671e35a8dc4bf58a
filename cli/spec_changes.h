// Differences between two specifications of a sweep, for people.
#ifndef INLIER_CLI_SPEC_CHANGES_H_
#define INLIER_CLI_SPEC_CHANGES_H_

#include <string>
#include <vector>

#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// "priority: 3 -> default", "axes.seed.values: [1] -> [1,2]": one line for each field that differs; axes are named by
// their names, variants by their labels. Pure.
std::vector<std::string> SpecChanges(const v1::SweepSpec& before, const v1::SweepSpec& after);

}  // namespace inlier

#endif  // INLIER_CLI_SPEC_CHANGES_H_
