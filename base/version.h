// Version and build of the program.
#ifndef INLIER_BASE_VERSION_H_
#define INLIER_BASE_VERSION_H_

#include <string>

namespace inlier {

// "0.1.0" (base/version_skew.h defines which ones work together). INLIER_VERSION_OF_TESTS in the environment
// replaces it, for tests of neighbouring releases with one build.
std::string Version();
// "0.1.0+<git commit, 12 digits>" with "-dirty" when the tree had changes; recorded with every attempt.
std::string BuildId();

}  // namespace inlier

#endif  // INLIER_BASE_VERSION_H_
