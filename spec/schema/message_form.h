// A digest of the form of a message: equal where two programs read it alike.
//
// Thread safety: pure function.
#ifndef INLIER_SPEC_SCHEMA_MESSAGE_FORM_H_
#define INLIER_SPEC_SCHEMA_MESSAGE_FORM_H_

#include <string>

#include "google/protobuf/descriptor.h"

namespace inlier {

// SHA-256 of all that a compiled .proto file has of the message and of all it is made of (fields, numbers, types, defaults,
// options, values of enums), as lower-case hexadecimal. Equal: a program with one reads every message of the other whole,
// and means the same by it. Comments do not count.
std::string FormDigest(const google::protobuf::Descriptor& message);

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_MESSAGE_FORM_H_
