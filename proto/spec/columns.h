// The columns of the view `trials`: every hyper-parameter that declares one, and where the resolved JSON has
// it.
#ifndef INLIER_PROTO_SPEC_COLUMNS_H_
#define INLIER_PROTO_SPEC_COLUMNS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace inlier {

struct SpecColumn {
  std::string name;
  // JSON paths in ResolvedJson, such as "$.model.bert.layers"; the first that is there counts. Empty for a
  // choice.
  std::vector<std::string> json_paths;
  // For a choice (which attention softmax, which architecture): member name and JSON path; the value is the
  // name of the member that is there.
  std::vector<std::pair<std::string, std::string>> members;
};

// In the order of the declarations. Names are unique.
const std::vector<SpecColumn>& SpecColumns();

// The column's value as an SQLite expression over a column `json` that holds ResolvedJson:
// COALESCE(json->>'$.a', json->>'$.b'), or CASE WHEN json->'$.x' IS NOT NULL THEN 'x' ... END.
std::string ColumnExpression(const SpecColumn& column, std::string_view json);

}  // namespace inlier

#endif  // INLIER_PROTO_SPEC_COLUMNS_H_
