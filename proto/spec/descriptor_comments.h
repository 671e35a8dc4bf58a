// The comments of the .proto files at run time.
//
// The compiled messages know no comments, so the descriptor set that protoc wrote with them is embedded in
// the program.
#ifndef INLIER_PROTO_SPEC_DESCRIPTOR_COMMENTS_H_
#define INLIER_PROTO_SPEC_DESCRIPTOR_COMMENTS_H_

#include "google/protobuf/descriptor.h"

namespace inlier {

// The same files as the compiled ones, with source locations. Options of inlier's own are not parsed here:
// read them from the compiled descriptors.
const google::protobuf::DescriptorPool& PoolWithComments();

}  // namespace inlier

#endif  // INLIER_PROTO_SPEC_DESCRIPTOR_COMMENTS_H_
