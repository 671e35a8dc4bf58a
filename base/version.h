// Version and build of the program.
#ifndef INLIER_BASE_VERSION_H_
#define INLIER_BASE_VERSION_H_

#include <string>

namespace inlier {

// "0.1.0": worker and coordinator must agree on it.
std::string Version();
// "0.1.0+<git commit, 12 digits>" with "-dirty" when the tree had changes; recorded with every attempt.
std::string BuildId();

}  // namespace inlier

#endif  // INLIER_BASE_VERSION_H_
