// The names that the papers would give a trial and a measurement of ours: from a spec to a PublishedQuery.
//
// The words are those of published.csv. A sweep needs no labels of its own for a figure to be found: softmax,
// gate, norm, optimizer, lengths, bits and the data decide.
//
// Thread safety: pure functions.
#ifndef INLIER_COORDINATOR_TABLES_PUBLISHED_QUERY_H_
#define INLIER_COORDINATOR_TABLES_PUBLISHED_QUERY_H_

#include <string>

#include "coordinator/tables/published.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

// `spec` is a resolved one; fields that are not there have their defaults.
PublishedQuery PublishedQueryOf(const v1::TrialSpec& spec, const std::string& measurement);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_TABLES_PUBLISHED_QUERY_H_
