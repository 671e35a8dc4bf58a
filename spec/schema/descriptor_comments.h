// The comments of the .proto files at run time.
//
// The compiled messages know no comments, so the descriptor set that protoc wrote with them is embedded in
// the program.
#ifndef INLIER_SPEC_SCHEMA_DESCRIPTOR_COMMENTS_H_
#define INLIER_SPEC_SCHEMA_DESCRIPTOR_COMMENTS_H_

#include <string>

#include "google/protobuf/descriptor.h"

namespace inlier {

// The same files as the compiled ones, with source locations. Options of inlier's own are not parsed here:
// read them from the compiled descriptors.
const google::protobuf::DescriptorPool& PoolWithComments();

// The comment of a field, message or choice in the .proto files, by its full name
// ("inlier.v1.TrialSpec.seed"), on one line; "" when nothing.
std::string CommentOf(const std::string& full_name);

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_DESCRIPTOR_COMMENTS_H_
