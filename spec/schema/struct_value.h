// Between messages and google.protobuf.Struct, in which sweeps carry partial specs and values.
#ifndef INLIER_SPEC_SCHEMA_STRUCT_VALUE_H_
#define INLIER_SPEC_SCHEMA_STRUCT_VALUE_H_

#include <string>

#include "google/protobuf/message.h"
#include "google/protobuf/struct.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// The present fields; enums as their names, empty groups as {}. REQUIRES: no repeated fields and no 64-bit integers.
google::protobuf::Struct MessageToStruct(const google::protobuf::Message& message);

// Merges a partial message over `message`: leaves are replaced, a member of a oneof replaces the other one, {} makes
// a group present, null takes a field or group away. Keys may be paths in dots. Mistakes (unknown keys, wrong types, both
// members of one oneof, a field twice) go to `problems` under `prefix`; the rest is applied. Ranges are not checked.
void ApplyStruct(const google::protobuf::Struct& from, const std::string& prefix,
                 google::protobuf::Message* message, Problems* problems);

// The value of an unquoted text: true, false, a number as FormatNumber writes it, else a text ("1e-3", "007").
google::protobuf::Value WrittenValue(const std::string& text);

// Short text for labels and messages: 2000, -0.03, true, words without quotes, lists in brackets.
std::string ValueText(const google::protobuf::Value& value);

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_STRUCT_VALUE_H_
