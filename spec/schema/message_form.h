// A digest of the form of a message: equal where two programs read it alike.
//
// Thread safety: pure function.
#ifndef INLIER_SPEC_SCHEMA_MESSAGE_FORM_H_
#define INLIER_SPEC_SCHEMA_MESSAGE_FORM_H_

#include <string>

#include "google/protobuf/descriptor.h"

namespace inlier {

// SHA-256, as lower-case hexadecimal, of the compiled declarations of the message and all it is made of (fields,
// numbers, types, defaults, options, enum values), without comments.
std::string FormDigest(const google::protobuf::Descriptor& message);

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_MESSAGE_FORM_H_
