// Which examples make up a batch, as Dataset promises: a pure function of (size, seed, number).
//
// The example in row r of batch i is number i * batch_size + r since the start of training (or calibration),
// for every batch size.
#ifndef INLIER_CORE_DATA_EXAMPLE_ORDER_H_
#define INLIER_CORE_DATA_EXAMPLE_ORDER_H_

#include <cstdint>
#include <vector>

namespace inlier {

// Epoch after epoch, each in its own order drawn from (seed, epoch). REQUIRES: size, batch_size > 0.
std::vector<std::int64_t> TrainExamples(std::int64_t size, std::uint64_t seed, std::uint64_t index,
                                        std::int64_t batch_size);

// In file order; the last batch may be smaller. REQUIRES: index >= 0 and index * batch_size < size.
std::vector<std::int64_t> ValidationExamples(std::int64_t size, std::int64_t index, std::int64_t batch_size);

// In one order drawn from `seed`, or (`drawn` false) in file order; past the end it starts again.
// REQUIRES: size, batch_size > 0, index >= 0.
std::vector<std::int64_t> CalibrationExamples(std::int64_t size, bool drawn, std::uint64_t seed,
                                              std::int64_t index, std::int64_t batch_size);

}  // namespace inlier

#endif  // INLIER_CORE_DATA_EXAMPLE_ORDER_H_
