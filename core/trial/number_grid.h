// A grid of numbers as JSON, in words of its own (ReadModelNumbers of core/trial/model_numbers.h describes it).
#ifndef INLIER_CORE_TRIAL_NUMBER_GRID_H_
#define INLIER_CORE_TRIAL_NUMBER_GRID_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

namespace inlier {

using Json = nlohmann::ordered_json;

// "0", "1", … from `first` on.
Json Counted(std::int64_t count, std::int64_t first = 0);

// Rows or columns: their name and title, and the text of each.
Json Side(std::string_view name, std::string_view title, Json texts);

Json FromTop(Json side);

// values (rows, columns) of any type; a number that is not finite is null.
Json Grid(const std::string& of, const std::string& value, Json rows, Json columns, const at::Tensor& values);

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_NUMBER_GRID_H_
