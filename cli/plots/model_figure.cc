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
  const bool dimensions = spec.kind() == FigureSpec::DIMENSIONS,
             attention = spec.kind() == FigureSpec::ATTENTION;
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
  if (!dimensions && (!json.contains("tokens") || json["tokens"].size() != figure.cells[0].size()))
    return no_numbers;
  for (std::size_t i = 0; i < figure.cells[0].size(); ++i)
    figure.columns.push_back(dimensions ? absl::StrCat(i) : json["tokens"].at(i).get<std::string>());
  if (attention) figure.rows = figure.columns;
  figure.x_heading = dimensions ? "dimension" : attention ? "key" : "position";
  figure.x_title = dimensions ? "hidden dimension" : attention ? "key" : "token";
  figure.y_heading = figure.y_title = attention ? "query" : "layer";
  figure.value_title = attention ? "probability" : "largest magnitude";
  figure.notes.push_back(
      attention    ? absl::StrCat(name, ", layer ", spec.layer(), ", head ", spec.head())
      : dimensions ? absl::StrCat(name, ", over ", json["examples"].get<int>(), " validation examples")
                   : absl::StrCat(name, ", the first validation example"));
  if (figure.log_y) {
    for (const auto& row : figure.cells) {
      for (const Summary& cell : row) RETURN_IF_ERROR(CheckLogarithm("y", figure.value_title, cell.mean));
    }
  }
  return figure;
}

}  // namespace inlier
