#include "coordinator/store/views/effective_gamma.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace inlier {

std::string EffectiveGammaSql(const JsonPlace& place) {
  const auto param = [&place](const std::string& name) {
    const auto& columns = SpecColumns();
    const auto at =
        std::ranges::find_if(columns, [&name](const SpecColumn& column) { return column.name == name; });
    INLIER_CHECK(at != columns.end());
    return ColumnExpression(*at, place);
  };
  const auto pixels = [&place](const std::string& field) {
    const auto [json, path] = place(absl::StrCat("$.model.vit.", field));
    return absl::StrCat("(", json, "->>'", path, "')");
  };
  const std::string side = absl::StrCat("(", pixels("image_size"), " / ", pixels("patch_size"), ")");
  return absl::StrCat("CASE ", param("softmax"), " WHEN 'vanilla' THEN 0.0 WHEN 'clipped' THEN coalesce(",
                      param("gamma"), ", -1.0 * ", param("alpha"), " / coalesce(", param("sequence_length"),
                      ", ", side, " * ", side, " + 1)) END");
}

}  // namespace inlier
