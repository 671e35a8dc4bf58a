// The published figures that a table is compared with, and the cells that they belong to.
//
// Thread safety: none.
#ifndef INLIER_RESULTS_TABLES_PUBLISHED_CELLS_H_
#define INLIER_RESULTS_TABLES_PUBLISHED_CELLS_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "results/tables/published.h"
#include "results/tables/trial_values.h"

namespace inlier {

class PublishedCells {
 public:
  // The column of the view `trials` that decides the published figure.
  static constexpr char kSpecColumn[] = "spec";

  // The figures of `table.published`, if any. InvalidArgument: there is no such table.
  static absl::StatusOr<PublishedCells> Of(const v1::TableSpec& table);
  bool any() const { return !figures_.empty(); }

  // Reads the specifications of trials, which need kSpecColumn. Before any Attach.
  absl::Status ReadSpecs(const std::vector<const TrialValues*>& trials);

  // Sets the figure that all trials behind the cell have, if any, in our unit.
  void Attach(const std::vector<const TrialValues*>& trials, const std::string& measurement,
              v1::TableCell* cell) const;
  // Sets the paper's average for a mean of columns, if the `with_figure` ones with figures are all of this row's.
  void AttachAverage(const std::vector<const TrialValues*>& trials, std::size_t with_figure,
                     v1::TableCell* cell) const;

 private:
  const PublishedFigure* FigureOf(const std::vector<const TrialValues*>& trials,
                                  const std::string& measurement,
                                  std::vector<std::string>* differences) const;

  std::vector<const PublishedFigure*> figures_;
  bool other_settings_ = false;  // Also figures with other settings, with a mark.
  std::map<const TrialValues*, v1::TrialSpec> specs_;
};

}  // namespace inlier

#endif  // INLIER_RESULTS_TABLES_PUBLISHED_CELLS_H_
