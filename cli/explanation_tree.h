// An explanation as text: one statement a line, its reasons below it, indented.
#ifndef INLIER_CLI_EXPLANATION_TREE_H_
#define INLIER_CLI_EXPLANATION_TREE_H_

#include <string>

#include "inlier/v1/sweep_service.pb.h"

namespace inlier {

// "trial t-2 (seed=2): PENDING\n└─ the only slot is busy\n"
std::string ExplanationTree(const v1::Explanation& explanation);

}  // namespace inlier

#endif  // INLIER_CLI_EXPLANATION_TREE_H_
