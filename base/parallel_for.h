// A loop whose steps may run at once.
#ifndef INLIER_BASE_PARALLEL_FOR_H_
#define INLIER_BASE_PARALLEL_FOR_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"

namespace inlier {

// Calls step(i) for every i below `count`, on up to `threads` threads, this one among them. Returns the error
// with the smallest i; after an error further steps may be left out. `after_each` is called from this thread,
// not after every step, with the number of started steps.
absl::Status ParallelFor(std::int64_t count, int threads,
                         const std::function<absl::Status(std::int64_t)>& step,
                         const std::function<void(std::int64_t)>& after_each = nullptr);

}  // namespace inlier

#endif  // INLIER_BASE_PARALLEL_FOR_H_
