// The embedded text of coordinator/tables/published.csv.
#ifndef INLIER_COORDINATOR_TABLES_PUBLISHED_CSV_H_
#define INLIER_COORDINATOR_TABLES_PUBLISHED_CSV_H_

#include <string>

namespace inlier {

const std::string& PublishedCsv();

}  // namespace inlier

#endif  // INLIER_COORDINATOR_TABLES_PUBLISHED_CSV_H_
