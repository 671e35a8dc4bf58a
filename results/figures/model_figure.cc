#include "results/figures/model_figure.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "results/figures/figure_ends.h"

namespace inlier {

using v1::FigureSpec;

namespace {

// Reads the names of rows or columns, and the words for them.
void ReadSide(const nlohmann::json& side, std::vector<std::string>* names, std::string* heading,
              std::string* title, bool* tokens) {
  *names = side.at("texts").get<std::vector<std::string>>();
  *heading = side.at("name").get<std::string>();
  *title = side.at("title").get<std::string>();
  *tokens = side.value("tokens", false);
}

Figure FigureOf(const nlohmann::json& numbers) {
  Figure figure;
  for (const auto& row : numbers.at("values")) {
    std::vector<Summary>& cells = figure.cells.emplace_back();
    for (const auto& value : row)
      cells.push_back(value.is_number() ? Summarise({value.get<double>()}) : Summary());
  }
  ReadSide(numbers.at("rows"), &figure.rows, &figure.y_heading, &figure.y_title, &figure.token_rows);
  ReadSide(numbers.at("columns"), &figure.columns, &figure.x_heading, &figure.x_title, &figure.token_columns);
  figure.downwards = numbers.at("rows").value("downwards", false);
  figure.value_title = numbers.at("value").get<std::string>();
  if (const auto tiles = numbers.find("tiles"); tiles != numbers.end())
    figure.tiles = {tiles->at("count"), tiles->at("columns"), tiles->at("size")};
  return figure;
}

}  // namespace

absl::StatusOr<Figure> BuildModelFigure(const FigureSpec& spec, const std::string& name,
                                        const std::string& numbers) {
  const auto json = nlohmann::json::parse(numbers, nullptr, /*allow_exceptions=*/false);
  Figure figure;
  try {
    figure = FigureOf(json);
    figure.notes.push_back(absl::StrCat(name, ", ", json.at("of").get<std::string>()));
  } catch (const nlohmann::json::exception&) {
    figure.cells.clear();
  }
  if (figure.cells.empty() || figure.rows.size() != figure.cells.size() ||
      figure.columns.size() != figure.cells[0].size())
    return absl::InternalError("inlier-trial has given no numbers; rebuild it with inlier");
  figure.TakeForm(spec);
  if (figure.log_y) {
    for (const auto& row : figure.cells) {
      for (const Summary& cell : row) {
        if (cell.n > 0) RETURN_IF_ERROR(CheckLogarithm("y", figure.value_title, cell.mean));
      }
    }
  }
  return figure;
}

}  // namespace inlier
