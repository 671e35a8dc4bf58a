// Every hyper-parameter as data, for `inlier params` and docs/reference/parameters.md.
#ifndef INLIER_SPEC_TRIAL_PARAM_REFERENCE_H_
#define INLIER_SPEC_TRIAL_PARAM_REFERENCE_H_

#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/descriptor.h"

namespace inlier {

struct ParamInfo {
  std::string path;
  bool is_group = false;  // A group of further fields, or a member of a choice without fields.
  // "number", "integer", "true or false", "text", "A | B" for enums; "group", "{}" or "choice: a | b" for groups.
  std::string type;
  std::string default_text;  // "" when there is none. For a choice its default member.
  std::string range;         // RangeText; "" when there is none.
  std::string symbol;        // LaTeX.
  std::string column;        // In the view `trials`.
  std::string comment;       // One line.
  bool required = false;
  bool incidental = false;
  std::string choice;  // The choice that has it as a member: "attention.softmax.kind", else "".
};

// All groups and leaves below `root`, parents first, in field order. Repeated fields and maps are left out.
std::vector<ParamInfo> DescribeParams(const google::protobuf::Descriptor* root);

// The field itself, or the elements of a repeated one.
ParamInfo DescribeField(const google::protobuf::FieldDescriptor* field, const std::string& prefix);

// DescribeParams of TrialSpec.
const std::vector<ParamInfo>& TrialParams();

// "number; from 0 to 1; default 0.5".
std::string Facts(const ParamInfo& info);

// The page docs/reference/parameters.md.
std::string ParamsMarkdown();

// Those of `all` whose path, column or comment contains every word of `filter`.
std::vector<ParamInfo> ParamsWith(std::string_view filter, const std::vector<ParamInfo>& all = TrialParams());

std::string ParamsText(const std::vector<ParamInfo>& params, int width = 100);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_PARAM_REFERENCE_H_
