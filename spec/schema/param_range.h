// The range that (param) declares for a number, and whether a value is in it.
#ifndef INLIER_SPEC_SCHEMA_PARAM_RANGE_H_
#define INLIER_SPEC_SCHEMA_PARAM_RANGE_H_

#include <string>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "spec/schema/problems.h"

namespace inlier {

// "from 1 to 65536", "above 0 and at most 1", "at least 1", or "" when the field has no limits.
std::string RangeText(const google::protobuf::FieldDescriptor* field);

bool IsWhole(const google::protobuf::FieldDescriptor* field);
// Whole or not.
bool IsNumber(const google::protobuf::FieldDescriptor* field);

// The value of a number field.
double NumberOf(const google::protobuf::FieldDescriptor* field, const google::protobuf::Message& parent);

// "0 is out of range: give a number from 1 to 65536", or "" for a leaf in its range or without one.
std::string RangeProblem(const google::protobuf::FieldDescriptor* field,
                         const google::protobuf::Message& parent);

// Problems by the declarations alone: ranges, numbers that are not finite, texts that are not UTF-8, required fields
// and required choices, of the message and, `with_groups`, of its sub-messages.
void CheckDeclarations(const google::protobuf::Message& message, const std::string& prefix,
                       Problems* problems, bool with_groups = true);

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_PARAM_RANGE_H_
