// A path as users write it in a file: `~/texts` is below their home folder, `${DATA}/texts` below what an environment
// variable names.
//
// Who reads the file replaces both, so that a message has paths as they are and its identity is by what results.
//
// Thread safety: pure functions, but for the environment.
#ifndef INLIER_SPEC_SCHEMA_PATH_TEXT_H_
#define INLIER_SPEC_SCHEMA_PATH_TEXT_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"

namespace inlier {

// The value of an environment variable, or null.
using Environment = std::function<const char*(const char* name)>;

// InvalidArgument names a variable that is not set, or empty. Values are taken as they are.
absl::StatusOr<std::string> ExpandPath(std::string_view text, const Environment& environment);

// True for a field that may have a path, by its declaration (ParamOptions.file).
bool MayBePath(const google::protobuf::FieldDescriptor* field);

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_PATH_TEXT_H_
