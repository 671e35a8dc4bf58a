// Prepares both stages: the resolved spec, the data and a model that fits them.
#ifndef INLIER_CORE_TRIAL_PREPARATION_H_
#define INLIER_CORE_TRIAL_PREPARATION_H_

#include <c10/core/Device.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/trial/event_writer.h"
#include "core/trial/open_data.h"
#include "inlier/v1/attempt.pb.h"
#include "inlier/v1/trial_spec.pb.h"

namespace inlier {

struct Prepared {
  v1::TrialSpec spec;  // Resolved and valid.
  c10::Device device;
  TrialData data;
  std::string start_digest;                // Of the model that the training starts, or started, from.
  std::string data_digest;                 // Of its data before they were opened.
  std::filesystem::path saved_model = {};  // Of a program: the unpacked folder (saved_model.h).
};

// All but the data; makes the folders of the attempt. InvalidArgument for a field of the attempt or its spec;
// Unavailable where a folder cannot be made; errors of the data's files as DataDigest's. Progress as events.
absl::StatusOr<Prepared> PrepareSpec(const v1::AttemptSpec& attempt, EventWriter& events);
// The same, and opens the data. Errors also as OpenTrialData's.
absl::StatusOr<Prepared> Prepare(const v1::AttemptSpec& attempt, EventWriter& events);
absl::Status OpenData(const v1::AttemptSpec& attempt, EventWriter& events, Prepared& prepared);

// OK when the files are still those whose digest is known: all of them have been read by now. Else Unavailable.
absl::Status CheckUnchanged(const v1::AttemptSpec& attempt, const Prepared& prepared, EventWriter& events);

// The event and the line of the log with which an attempt starts.
void ReportStarted(const Prepared& prepared, std::uint64_t resumed_step, EventWriter& events,
                   std::uint32_t processes = 1);

// A checkpoint that cannot be read is the machine's fault, not the spec's.
absl::Status AsDataLoss(const absl::Status& status, const char* remedy);
inline constexpr char kOtherModel[] = "train that model again, or start from another one";

}  // namespace inlier

#endif  // INLIER_CORE_TRIAL_PREPARATION_H_
