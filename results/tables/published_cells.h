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
  // The column of the view `trials` that selects the published figure of ours.
  static constexpr char kSpecColumn[] = "spec";

  // The figures of `table.published`; none where it has none. InvalidArgument: there is no such table.
  static absl::StatusOr<PublishedCells> Of(const v1::TableSpec& table);
  bool any() const { return !figures_.empty(); }

  // Reads the specifications of trials, which need kSpecColumn. Before any Attach.
  absl::Status ReadSpecs(const std::vector<const TrialValues*>& trials);

  // Sets the figure of all trials behind the cell, in our unit; none when they are not of one kind.
  void Attach(const std::vector<const TrialValues*>& trials, const std::string& measurement,
              v1::TableCell* cell) const;
  // The same for a mean of columns, `with_figure` of which have a figure: the paper's average, where those are all of its
  // other figures of this row.
  void AttachAverage(const std::vector<const TrialValues*>& trials, std::size_t with_figure,
                     v1::TableCell* cell) const;

 private:
  const PublishedFigure* FigureOf(const std::vector<const TrialValues*>& trials,
                                  const std::string& measurement,
                                  std::vector<std::string>* differences) const;

  std::vector<const PublishedFigure*> figures_;
  bool other_settings_ = false;  // Also where the paper's setting is another one, with a mark.
  std::map<const TrialValues*, v1::TrialSpec> specs_;
};

}  // namespace inlier

#endif  // INLIER_RESULTS_TABLES_PUBLISHED_CELLS_H_
