// The views of what `inlier analyze` measured. For param_view.cc.
#ifndef INLIER_COORDINATOR_STORE_ANALYSIS_VIEWS_H_
#define INLIER_COORDINATOR_STORE_ANALYSIS_VIEWS_H_

#include "coordinator/store/param_view.h"

namespace inlier {

View AnalysesView();
View AnalysisSitesView();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_ANALYSIS_VIEWS_H_
