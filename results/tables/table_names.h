// The names that a table may use: axes of its sweeps, columns of the view `trials`, and measurements.
//
// Thread safety: none.
#ifndef INLIER_RESULTS_TABLES_TABLE_NAMES_H_
#define INLIER_RESULTS_TABLES_TABLE_NAMES_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "spec/program/measurement_list.h"
#include "spec/sweep/label_finder.h"

namespace inlier {

// The column of the view trials that says which numbers are imported.
inline constexpr char kOriginColumn[] = "origin";

class TableNames {
 public:
  // The labels of an axis are those of the first sweep, then those that others add. InvalidArgument where sweeps disagree
  // about a measurement.
  static absl::StatusOr<TableNames> Of(const std::vector<v1::SweepSpec>& sweeps);

  bool IsAxis(const std::string& name) const { return axes_.contains(name); }
  // nullptr where any text is a label, or for a column.
  const std::vector<std::string>* LabelsOf(const std::string& name) const;
  // The LaTeX symbol of an axis' or column's hyper-parameter; empty where the schema has none.
  std::string SymbolOf(const std::string& name) const;

  const MeasurementList& measurements() const { return *measurements_; }

  // Replaces the values that `spec` writes by labels of axes. InvalidArgument names the place of an unknown name, label or
  // measurement, and the nearest known one; or the error is of `check`, which is called often.
  absl::Status Resolve(v1::TableSpec& spec, const std::function<absl::Status()>& check) const;

 private:
  using Where = google::protobuf::Map<std::string, google::protobuf::Value>;
  struct Axis {
    std::optional<std::vector<std::string>> labels;  // nullopt for a range, with any number as a label.
    std::string field;                               // Path, or empty.
  };

  absl::Status CheckName(const std::string& place, const std::string& name) const;
  absl::Status ResolveWhere(const std::string& place, Where& where,
                            const std::function<absl::Status()>& check) const;
  absl::Status ResolveBaseline(v1::TableSpec& spec, const std::function<absl::Status()>& check) const;

  std::map<std::string, Axis> axes_;
  mutable std::map<std::string, LabelFinder> finders_;  // By axis; made when needed.
  std::vector<std::string> known_;
  std::map<std::string, std::string> symbols_;  // By column and, with "." before it, by path.
  std::shared_ptr<const MeasurementList> measurements_;
};

}  // namespace inlier

#endif  // INLIER_RESULTS_TABLES_TABLE_NAMES_H_
