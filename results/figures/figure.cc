#include "results/figures/figure.h"

#include "absl/strings/str_cat.h"
#include "spec/sweep/figure_checks.h"

namespace inlier {

bool HasGrid(v1::FigureSpec::Kind kind) { return kind == v1::FigureSpec::HEAT_MAP || IsOfModel(kind); }

std::string SeriesName(const FigureSeries& series) {
  std::string name;
  const auto add = [&name](const std::string& word) {
    if (!word.empty()) absl::StrAppend(&name, name.empty() ? "" : ", ", word);
  };
  for (const std::string& label : series.labels) add(label);
  add(series.level_name);
  return name;
}

}  // namespace inlier
