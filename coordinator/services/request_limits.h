// How much one request may carry, so that no client grows the coordinator without bound: the stored part of a
// request is kept for long, and some of it once for every trial.
//
// The services check it before a request reaches the coordinator's thread. InvalidArgument names what is too
// much, the limit, and the remedy.
#ifndef INLIER_COORDINATOR_SERVICES_REQUEST_LIMITS_H_
#define INLIER_COORDINATOR_SERVICES_REQUEST_LIMITS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "inlier/v1/sweep_service.pb.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "inlier/v1/worker_service.pb.h"
#include "spec/schema/limits.h"

namespace inlier {

inline constexpr std::size_t kAnalysisNumbersMax = 200'000;

absl::Status CheckLimits(const v1::SweepSpec& sweep);
absl::Status CheckLimits(const v1::TableSpec& table);
absl::Status CheckLimits(const v1::WorkerSync& sync);
// Checks the texts of a request except `sql`, which has a limit of its own, without those of messages inside
// it.
absl::Status CheckWords(const google::protobuf::Message& request);
absl::Status CheckWords(const v1::StoreAnalysisRequest& request);
absl::Status CheckWords(const v1::LabelSweepRequest& request);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_SERVICES_REQUEST_LIMITS_H_
