// A cache of Hugging Face's hub with the sizes alone of the models that sweeps of sweeps/ name: to read such a sweep needs no more.
#ifndef INLIER_TESTS_SUPPORT_HUB_H_
#define INLIER_TESTS_SUPPORT_HUB_H_

#include <cstdlib>
#include <string>

namespace inlier {

// Of the source in `root`, for this process.
inline void UseHubOfTests(const std::string& root) {
  ::setenv("HF_HUB_CACHE", (root + "/tests/support/hub").c_str(), 1);
}

}  // namespace inlier

#endif  // INLIER_TESTS_SUPPORT_HUB_H_
