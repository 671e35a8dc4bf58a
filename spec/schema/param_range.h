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

// "0 is out of range: give a number from 1 to 65536", or "" when the leaf's value is in its range (or has
// none).
std::string RangeProblem(const google::protobuf::FieldDescriptor* field,
                         const google::protobuf::Message& parent);

// Problems by the declarations alone, of a whole message with its sub-messages: ranges, numbers that are
// not finite, texts that are not UTF-8, required fields and required choices.
void CheckDeclarations(const google::protobuf::Message& message, const std::string& prefix,
                       Problems* problems);

// The same of the message's own leaves, required fields and choices, without its groups.
void CheckOwnDeclarations(const google::protobuf::Message& message, const std::string& prefix,
                          Problems* problems);

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_PARAM_RANGE_H_
