// `--set path=value`: changes of single fields from a command line.
#ifndef INLIER_SPEC_SCHEMA_OVERRIDES_H_
#define INLIER_SPEC_SCHEMA_OVERRIDES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace inlier {

// Applies "training.steps=100" and the like in order, the later one winning. "attention.softmax.vanilla={}"
// chooses a member without fields. A list of texts grows by one: "data_roots=/data". Types and ranges are checked.
// InvalidArgument has a line `--set <the text>: the problem` for each; `message` is then unchanged.
absl::Status ApplyOverrides(google::protobuf::Message* message, const std::vector<std::string>& overrides);

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_OVERRIDES_H_
