// Where the numbers of an imported sweep are from, in words.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_PROGRAM_IMPORT_SOURCE_H_
#define INLIER_SPEC_PROGRAM_IMPORT_SOURCE_H_

#include <string>

#include "absl/status/status.h"
#include "base/time.h"
#include "inlier/v1/sweep_spec.pb.h"

namespace inlier {

// "imported from /data/runs.csv (CSV, SHA-256 9f…), on 2026-01-31T12:00:00.123Z, by ann". `owner`: of the sweep.
std::string ImportText(const v1::ImportSource& source, const std::string& owner, WallTime at);

// FailedPrecondition for an imported sweep, of which nothing runs; `sweep`: "s-3 (smoke)".
absl::Status CheckNotImported(const v1::SweepSpec& spec, const std::string& sweep);

}  // namespace inlier

#endif  // INLIER_SPEC_PROGRAM_IMPORT_SOURCE_H_
