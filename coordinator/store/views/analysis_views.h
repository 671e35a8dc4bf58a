// The views of what `inlier analyze` measured. For param_view.cc.
#ifndef INLIER_COORDINATOR_STORE_VIEWS_ANALYSIS_VIEWS_H_
#define INLIER_COORDINATOR_STORE_VIEWS_ANALYSIS_VIEWS_H_

#include "coordinator/store/views/param_view.h"

namespace inlier {

View AnalysesView();
View AnalysisSitesView();

// Measurements of trials, a row for each: of reruns, of single modules, and of curves.
View RerunsView(const std::vector<v1::ProgramDescription>& programs);
View SitesView();
View CurvesView();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_VIEWS_ANALYSIS_VIEWS_H_
