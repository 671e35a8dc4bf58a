// Any message as proto JSON with the names of the .proto files: what protobuf's own printer writes with
// preserve_proto_field_names, in a tenth of its time. A submission is answered after its sweep has been
// written so.
//
// Numbers are in their shortest form that reads back the same (number_text.h), 64-bit integers and numbers
// that are not finite are strings, google.protobuf.Value, Struct and ListValue stand for themselves. Keys of
// maps are sorted.
//
// Thread safety: pure functions.
#ifndef INLIER_PROTO_SPEC_MESSAGE_JSON_H_
#define INLIER_PROTO_SPEC_MESSAGE_JSON_H_

#include <string>

#include "google/protobuf/message.h"

namespace inlier {

// REQUIRES: keys of maps are strings; no bytes, and of the well-known types only those above.
std::string MessageJson(const google::protobuf::Message& message);

}  // namespace inlier

#endif  // INLIER_PROTO_SPEC_MESSAGE_JSON_H_
