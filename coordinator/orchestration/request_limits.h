// How much one request may carry, so that nothing that a client sends grows the coordinator without bound:
// what is kept of a request is kept for long, and some of it once for every trial.
//
// Checked by the services before a request reaches the coordinator's thread. InvalidArgument names what is
// too much, the limit, and the remedy. Pure functions; any thread.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_REQUEST_LIMITS_H_
#define INLIER_COORDINATOR_ORCHESTRATION_REQUEST_LIMITS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "inlier/v1/worker_service.pb.h"

namespace inlier {

struct RequestLimits {
  static constexpr std::size_t kSweepBytesMax = 8 << 20;  // As a file of a sweep may have.
  static constexpr std::size_t kTrialBytesMax = 64
                                                << 10;    // What the base and one value of each axis come to.
  static constexpr std::size_t kNameBytesMax = 256;       // Names, groups, paths of fields, labels.
  static constexpr std::size_t kTextBytesMax = 64 << 10;  // Descriptions.
  static constexpr int kAxesMax = 64;
  static constexpr int kValuesMax = 100'000;  // Of one axis.
  static constexpr int kExclusionsMax = 10'000;
  static constexpr int kTableColumnsMax = 1000;
  static constexpr int kTableRowsMax = 64;            // Columns of row headings.
  static constexpr std::size_t kWordBytesMax = 1024;  // Of any other text: an id, a name, a page token.
  static constexpr int kSlotsMax = 1024;
  static constexpr int kAttemptsMax = 4096;
  static constexpr int kEventsMax = 10'000;
  static constexpr std::size_t kProvenanceBytesMax = 4096;  // Of each text in Started.
  static constexpr std::size_t kPathBytesMax = 4096;
};

absl::Status CheckLimits(const v1::SweepSpec& sweep);
absl::Status CheckLimits(const v1::TableSpec& table);
absl::Status CheckLimits(const v1::WorkerSync& sync);
// The texts of a request, but `sql`, which has a limit of its own; messages inside it are not looked at.
absl::Status CheckWords(const google::protobuf::Message& request);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_REQUEST_LIMITS_H_
