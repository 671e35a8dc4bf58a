// Between messages and google.protobuf.Struct, in which sweeps carry partial specs and values.
#ifndef INLIER_SPEC_SCHEMA_STRUCT_VALUE_H_
#define INLIER_SPEC_SCHEMA_STRUCT_VALUE_H_

#include <string>

#include "google/protobuf/message.h"
#include "google/protobuf/struct.pb.h"
#include "spec/schema/problems.h"

namespace inlier {

// The present fields only; enums as their names, empty groups as {}. REQUIRES: no repeated fields and no
// 64-bit integers.
google::protobuf::Struct MessageToStruct(const google::protobuf::Message& message);

// Merges a partial message over `message`: leaves are replaced, a member of a oneof replaces the other one,
// {} makes a group present. Keys may be paths in dots. Mistakes (unknown keys, wrong types, both members of
// one oneof, null, a field twice) go to `problems` under `prefix`; what is right is applied all the same.
// Ranges are not checked.
void ApplyStruct(const google::protobuf::Struct& from, const std::string& prefix,
                 google::protobuf::Message* message, Problems* problems);

// The value of a text without quotes: true, false, a number in its one spelling (FormatNumber), else the text as it is
// written ("1e-3", "007"), which a label may be, too.
google::protobuf::Value WrittenValue(const std::string& text);

// Short text for labels and messages: 2000, -0.03, true, words without quotes, lists in brackets.
std::string ValueText(const google::protobuf::Value& value);

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_STRUCT_VALUE_H_
