#include "core/trial/number_grid.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace inlier {
namespace {

Json RowsOf(const at::Tensor& values) {
  const at::Tensor exact = values.to(at::kDouble).contiguous();
  Json rows = Json::array();
  for (std::int64_t r = 0; r < exact.size(0); ++r) {
    const double* at = exact[r].data_ptr<double>();
    Json row = Json::array();
    for (std::int64_t c = 0; c < exact.size(1); ++c)
      row.push_back(std::isfinite(at[c]) ? Json(at[c]) : Json(nullptr));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Json Counted(std::int64_t count, std::int64_t first) {
  Json texts = Json::array();
  for (std::int64_t i = 0; i < count; ++i) texts.push_back(absl::StrCat(first + i));
  return texts;
}

Json Side(std::string_view name, std::string_view title, Json texts) {
  return {{"name", std::string(name)}, {"title", std::string(title)}, {"texts", std::move(texts)}};
}

Json FromTop(Json side) {
  side["downwards"] = true;
  return side;
}

Json Grid(const std::string& of, const std::string& value, Json rows, Json columns,
          const at::Tensor& values) {
  return {{"of", of},
          {"value", value},
          {"rows", std::move(rows)},
          {"columns", std::move(columns)},
          {"values", RowsOf(values)}};
}

}  // namespace inlier
