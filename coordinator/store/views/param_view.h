// The views that users query, derived from the hyper-parameters (fields with a `column`) and the
// measurements' table.
//
// Tables are internal and singular (trial, stage, attempt, …); views are for users and plural (trials,
// results, sites, …). docs/reference/schema.md is written from here. Database replaces a view whose text differs
// from what is wanted, so a new hyper-parameter, also of a program of one's own, needs no migration.
#ifndef INLIER_COORDINATOR_STORE_VIEWS_PARAM_VIEW_H_
#define INLIER_COORDINATOR_STORE_VIEWS_PARAM_VIEW_H_

#include <string>
#include <vector>

#include "inlier/v1/program.pb.h"

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

// All views, those that others use first, of a database with sweeps of these programs.
std::vector<View> UserViews(const std::vector<v1::ProgramDescription>& programs = {});

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_VIEWS_PARAM_VIEW_H_
