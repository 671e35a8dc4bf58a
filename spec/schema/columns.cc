#include "spec/schema/columns.h"

#include <algorithm>

#include "base/check.h"
#include "google/protobuf/descriptor.h"
#include "inlier/v1/param_options.pb.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/field_path.h"

namespace inlier {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::OneofDescriptor;

SpecColumn& ColumnNamed(const std::string& name, std::vector<SpecColumn>* columns) {
  const auto it =
      std::ranges::find_if(*columns, [&](const SpecColumn& column) { return column.name == name; });
  if (it != columns->end()) return *it;
  columns->push_back({name, {}, {}});
  return columns->back();
}

void Collect(const Descriptor* type, const std::string& prefix, std::vector<SpecColumn>* columns) {
  for (int i = 0; i < type->oneof_decl_count(); ++i) {
    const OneofDescriptor* choice = type->oneof_decl(i);
    const std::string& name = choice->options().GetExtension(v1::choice).column();
    if (name.empty()) continue;
    SpecColumn& column = ColumnNamed(name, columns);
    INLIER_CHECK(column.json_paths.empty());
    for (int j = 0; j < choice->field_count(); ++j) {
      column.members.emplace_back(choice->field(j)->name(), prefix + "." + choice->field(j)->name());
    }
  }
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (field->is_repeated() || IsMade(field)) continue;
    const std::string path = prefix + "." + field->name();
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!field->options().GetExtension(v1::param).no_columns())
        Collect(field->message_type(), path, columns);
      continue;
    }
    const std::string& name = field->options().GetExtension(v1::param).column();
    if (name.empty()) continue;
    SpecColumn& column = ColumnNamed(name, columns);
    INLIER_CHECK(column.members.empty());
    column.json_paths.push_back(path);
  }
}

}  // namespace

const std::vector<SpecColumn>& SpecColumns() {
  static const std::vector<SpecColumn> columns = [] {
    std::vector<SpecColumn> found;
    Collect(v1::TrialSpec::descriptor(), "$", &found);
    return found;
  }();
  return columns;
}

std::string ColumnExpression(const SpecColumn& column, const JsonPlace& place) {
  const auto at = [&place](const std::string& path, const char* arrow) {
    const auto [json, within] = place(path);
    return json + arrow + "'" + within + "'";
  };
  std::string text;
  if (!column.members.empty()) {
    text = "CASE";
    for (const auto& [member, path] : column.members)
      text += " WHEN " + at(path, "->") + " IS NOT NULL THEN '" + member + "'";
    text += " END";
  }
  for (const std::string& path : column.json_paths) text += (text.empty() ? "" : ", ") + at(path, "->>");
  return column.json_paths.size() + !column.members.empty() == 1 ? text : "COALESCE(" + text + ")";
}

}  // namespace inlier
