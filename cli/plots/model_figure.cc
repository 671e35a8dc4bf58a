#include "cli/plots/model_figure.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/plots/figure_ends.h"
#include "nlohmann/json.hpp"

namespace inlier {

using v1::FigureSpec;

absl::StatusOr<Figure> BuildModelFigure(const FigureSpec& spec, const std::string& name,
                                        const std::string& numbers) {
  const auto json = nlohmann::json::parse(numbers, nullptr, /*allow_exceptions=*/false);
  const absl::Status no_numbers =
      absl::InternalError("inlier-trial has given no numbers; rebuild it with inlier");
  if (!json.is_object() || !json.contains("values") || json["values"].empty()) return no_numbers;
  const bool attention = spec.kind() == FigureSpec::ATTENTION, tokens = HasTokens(spec.kind()),
             positions = spec.kind() == FigureSpec::OUTLIER_POSITIONS,
             outliers = positions || spec.kind() == FigureSpec::OUTLIER_DIMENSIONS;
  Figure figure;
  figure.kind = spec.kind();
  figure.title = spec.title();
  figure.log_y = spec.log_y();
  figure.width_mm = spec.width_mm();
  figure.height_mm = spec.height_mm();
  for (const auto& row : json["values"]) {
    std::vector<Summary>& cells = figure.cells.emplace_back();
    for (const auto& value : row)
      cells.push_back(value.is_number() ? Summarise({value.get<double>()}) : Summary());
    figure.rows.push_back(absl::StrCat(figure.rows.size() + (attention ? 0 : 1)));
  }
  if (tokens && (!json.contains("tokens") || json["tokens"].size() != figure.cells[0].size()))
    return no_numbers;
  for (std::size_t i = 0; i < figure.cells[0].size(); ++i)
    figure.columns.push_back(tokens ? json["tokens"].at(i).get<std::string>() : absl::StrCat(i));
  if (attention) figure.rows = figure.columns;
  figure.x_heading = attention ? "key" : tokens || positions ? "position" : "dimension";
  figure.x_title = attention   ? "key"
                   : tokens    ? "token"
                   : positions ? "position of the token"
                               : "hidden dimension";
  figure.y_heading = figure.y_title = attention ? "query" : "layer";
  figure.value_title = attention  ? "probability"
                       : outliers ? "elements beyond 6 standard deviations"
                                  : "largest magnitude";
  figure.notes.push_back(
      attention ? absl::StrCat(name, ", layer ", spec.layer(), ", head ", spec.head())
      : tokens  ? absl::StrCat(name, ", the first validation example")
                : absl::StrCat(name, ", over ", json["examples"].get<int>(), " validation examples"));
  if (figure.log_y) {
    for (const auto& row : figure.cells) {
      for (const Summary& cell : row) RETURN_IF_ERROR(CheckLogarithm("y", figure.value_title, cell.mean));
    }
  }
  return figure;
}

}  // namespace inlier
