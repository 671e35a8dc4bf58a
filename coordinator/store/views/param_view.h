// The views that users query, derived from the hyper-parameters (fields with a `column`) and the
// measurements' table.
//
// Tables are internal and singular (trial, stage, attempt, …); views are for users and plural (trials,
// results, sites, …). docs/reference/schema.md is written from here. Database::Open replaces a view whose
// text differs from this program's, so a new hyper-parameter needs no migration.
#ifndef INLIER_COORDINATOR_STORE_VIEWS_PARAM_VIEW_H_
#define INLIER_COORDINATOR_STORE_VIEWS_PARAM_VIEW_H_

#include <string>
#include <vector>

namespace inlier {

struct ViewColumn {
  std::string name;
  std::string sql;      // Expression over the view's tables.
  std::string comment;  // For the reference.
};

struct View {
  std::string name;
  std::string comment;
  std::vector<ViewColumn> columns;
  std::string from;  // FROM and WHERE.

  // `temporary`: the view of one connection, which hides the stored view of that name.
  std::string CreateSql(bool temporary = false) const;
};

// All views, those that others use first.
const std::vector<View>& UserViews();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_VIEWS_PARAM_VIEW_H_
