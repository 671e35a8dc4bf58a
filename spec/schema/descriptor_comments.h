// The comments of the .proto files at run time.
//
// The compiled messages lack them, so the descriptor set that protoc wrote with comments is embedded in the program.
#ifndef INLIER_SPEC_SCHEMA_DESCRIPTOR_COMMENTS_H_
#define INLIER_SPEC_SCHEMA_DESCRIPTOR_COMMENTS_H_

#include <string>

namespace inlier {

// The comment, on one line, of a field, message, choice or value by its full name ("inlier.v1.TrialSpec.seed").
std::string CommentOf(const std::string& full_name);

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_DESCRIPTOR_COMMENTS_H_
