#include "core/data/example_order.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/random_stream.h"

namespace inlier {

std::vector<std::int64_t> TrainExamples(std::int64_t size, std::uint64_t seed, std::uint64_t index,
                                        std::int64_t batch_size) {
  INLIER_CHECK(size > 0 && batch_size > 0);
  const auto count = static_cast<std::uint64_t>(size);
  std::vector<std::int64_t> examples;
  std::optional<RandomOrder> order;
  for (std::int64_t row = 0; row < batch_size; ++row) {
    const std::uint64_t number = index * static_cast<std::uint64_t>(batch_size) + row;
    if (!order.has_value() || number % count == 0) order.emplace(count, seed, "epoch", number / count);
    examples.push_back(static_cast<std::int64_t>(order->At(number % count)));
  }
  return examples;
}

std::vector<std::int64_t> ValidationExamples(std::int64_t size, std::int64_t index, std::int64_t batch_size) {
  INLIER_CHECK(batch_size > 0 && index >= 0 && index * batch_size < size);
  std::vector<std::int64_t> examples;
  for (std::int64_t i = index * batch_size; i < std::min((index + 1) * batch_size, size); ++i)
    examples.push_back(i);
  return examples;
}

std::vector<std::int64_t> CalibrationExamples(std::int64_t size, bool drawn, std::uint64_t seed,
                                              std::int64_t index, std::int64_t batch_size) {
  INLIER_CHECK(size > 0 && batch_size > 0 && index >= 0);
  const auto count = static_cast<std::uint64_t>(size);
  const RandomOrder order(count, seed, "calibration");
  std::vector<std::int64_t> examples;
  for (std::int64_t row = 0; row < batch_size; ++row) {
    const std::uint64_t place = (static_cast<std::uint64_t>(index) * batch_size + row) % count;
    examples.push_back(static_cast<std::int64_t>(drawn ? order.At(place) : place));
  }
  return examples;
}

}  // namespace inlier
