// The columns of the view `trials`: every hyper-parameter that declares one, and its place in the resolved JSON.
#ifndef INLIER_SPEC_SCHEMA_COLUMNS_H_
#define INLIER_SPEC_SCHEMA_COLUMNS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace inlier {

struct SpecColumn {
  std::string name;
  // JSON paths in ResolvedJson, such as "$.model.bert.layers"; the first one present counts. Of a choice: those of programs.
  std::vector<std::string> json_paths;
  // For a choice (such as softmax): name and JSON path of each member; the value is the name of the present one.
  std::vector<std::pair<std::string, std::string>> members;
};

// In the order of the declarations. Names are unique.
const std::vector<SpecColumn>& SpecColumns();

// Where a JSON path of ResolvedJson is found: an SQLite expression that is JSON, and the path within it.
using JsonPlace = std::function<std::pair<std::string, std::string>(const std::string& path)>;

// The column's value as an SQLite expression: COALESCE(json->>'$.a', json->>'$.b'), or
// CASE WHEN json->'$.x' IS NOT NULL THEN 'x' ... END.
std::string ColumnExpression(const SpecColumn& column, const JsonPlace& place);

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_COLUMNS_H_
