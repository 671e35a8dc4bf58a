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
  if (const auto* list = message->GetDescriptor()->FindFieldByName(text.substr(0, equals));
      list != nullptr && list->is_repeated() &&
      list->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING) {
    message->GetReflection()->AddString(message, list, text.substr(equals + 1));
    return absl::OkStatus();
  }
  absl::StatusOr<FieldPath> path = FieldPath::Parse(message->GetDescriptor(), text.substr(0, equals));
  if (!path.ok()) return path.status();
  absl::Status set = path->SetText(text.substr(equals + 1), message);
  if (!set.ok() || !path->is_leaf()) return set;
  google::protobuf::Message* parent = message;
  for (std::size_t i = 0; i + 1 < path->fields().size(); ++i) {
    parent = parent->GetReflection()->MutableMessage(parent, path->fields()[i]);
  }
  const std::string problem = RangeProblem(path->field(), *parent);
  return problem.empty() ? absl::OkStatus() : absl::InvalidArgumentError(path->text() + ": " + problem);
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
