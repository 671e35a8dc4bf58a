// The errors of looking up a sweep or a trial, in memory and in the database alike.
#ifndef INLIER_COORDINATOR_STORE_NOT_FOUND_H_
#define INLIER_COORDINATOR_STORE_NOT_FOUND_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace inlier {

// A suggestion is one of the newest so many names of sweeps.
inline constexpr std::size_t kNamesCompared = 1000;

// NotFound, with the one of `names` that comes close.
absl::Status NoSuchSweep(const std::string& id_or_name, std::vector<std::string> names);
absl::Status NoSuchTrial(const std::string& id);
// NotFound: the sweep was removed, which also took `what` (the sweep or one of its trials) out of sight.
absl::Status WasRemoved(const std::string& what, const std::string& sweep, bool freed);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_NOT_FOUND_H_
