// Which models rules of the collection keep (CollectRequest.models).
//
// Thread safety: any thread; waits for the database.
#ifndef INLIER_COORDINATOR_ARTIFACTS_MODEL_RULES_H_
#define INLIER_COORDINATOR_ARTIFACTS_MODEL_RULES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/store/ids.h"
#include "coordinator/store/reader.h"
#include "inlier/v1/artifact_service.pb.h"

namespace inlier {

// The trainings with a model that no rule keeps, of sweeps that have ended. One that another sweep has too goes only where that
// one has ended, is in the request and does not keep it. Errors name the rule and the remedy.
absl::StatusOr<std::vector<StageId>> ModelsLetGo(Reader& reader, const v1::ModelRules& rules,
                                                 const std::string& caller);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ARTIFACTS_MODEL_RULES_H_
