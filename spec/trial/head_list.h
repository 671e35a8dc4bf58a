// Heads by name, as evaluation.intervention.heads_off lists them.
#ifndef INLIER_SPEC_TRIAL_HEAD_LIST_H_
#define INLIER_SPEC_TRIAL_HEAD_LIST_H_

#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace inlier {

using HeadList = std::set<std::pair<std::uint32_t, std::uint32_t>>;  // Layer and head, from 0.

// Of "0.1 3.7". InvalidArgument names the word that is no head, or is there twice.
absl::StatusOr<HeadList> ParseHeads(std::string_view text);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_HEAD_LIST_H_
