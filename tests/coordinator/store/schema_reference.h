#ifndef INLIER_TESTS_COORDINATOR_STORE_SCHEMA_REFERENCE_H_
#define INLIER_TESTS_COORDINATOR_STORE_SCHEMA_REFERENCE_H_

#include <string>

namespace inlier {

// Returns docs/reference/schema.md: the views, then the tables with their comments, from a database made by
// this program.
std::string SchemaReference();

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_STORE_SCHEMA_REFERENCE_H_
