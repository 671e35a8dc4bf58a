#include "spec/schema/overrides.h"

#include <memory>

#include "spec/schema/field_path.h"
#include "spec/schema/param_range.h"
#include "spec/schema/problems.h"

namespace inlier {
namespace {

absl::Status ApplyOne(const std::string& text, google::protobuf::Message* message) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    return absl::InvalidArgumentError("is not path=value; write for example training.steps=100");
  FieldPath path;
  const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  std::string problem = FieldPath::TryParse(message->GetDescriptor(), name, &path);
  if (problem.empty() && path.field()->is_repeated()) {
    if (path.field()->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING) {
      google::protobuf::Message* parent = path.MutableParent(message);
      parent->GetReflection()->AddString(parent, path.field(), value);
      return absl::OkStatus();
    }
    problem = "is a list and cannot be named by a path; write it in the file";
  }
  if (!problem.empty()) return absl::InvalidArgumentError(name + ": " + problem);
  absl::Status set = path.SetText(value, message);
  if (!set.ok() || !path.is_leaf()) return set;
  problem = RangeProblem(path.field(), path.Parent(*message));
  return problem.empty() ? absl::OkStatus() : absl::InvalidArgumentError(path.text() + ": " + problem);
}

}  // namespace

absl::Status ApplyOverrides(google::protobuf::Message* message, const std::vector<std::string>& overrides) {
  const std::unique_ptr<google::protobuf::Message> changed(message->New());
  changed->CopyFrom(*message);
  Problems problems;
  for (const std::string& text : overrides) {
    const absl::Status status = ApplyOne(text, changed.get());
    if (!status.ok()) problems.Add("--set " + text, std::string(status.message()));
  }
  if (problems.empty()) message->GetReflection()->Swap(message, changed.get());
  return problems.ToStatus();
}

}  // namespace inlier
