#include "spec/trial/param_reference.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/dynamic_message.h"
#include "inlier/v1/param_options.pb.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/descriptor_comments.h"
#include "spec/schema/field_path.h"
#include "spec/schema/param_range.h"
#include "spec/schema/problems.h"
#include "spec/trial/presets.h"

namespace inlier {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::OneofDescriptor;

std::string TypeText(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_STRING: {
      const auto& choices = field->options().GetExtension(v1::param).choices();
      return choices.empty() ? "text" : absl::StrJoin(choices, " | ");
    }
    case FieldDescriptor::CPPTYPE_ENUM:
      return absl::StrJoin(EnumNames(field->enum_type()), " | ");
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return "number";
    default:
      return "integer";
  }
}

std::string DefaultText(const FieldDescriptor* field) {
  if (!field->has_default_value()) return "";
  google::protobuf::DynamicMessageFactory of_program;
  const bool ours = field->file()->pool() == google::protobuf::DescriptorPool::generated_pool();
  google::protobuf::MessageFactory* factory =
      ours ? google::protobuf::MessageFactory::generated_factory() : &of_program;
  return LeafText(field, *factory->GetPrototype(field->containing_type()));
}

// The choice of a group that holds one; else null.
const OneofDescriptor* ChoiceOf(const Descriptor* type) {
  return type->oneof_decl_count() == 1 ? type->oneof_decl(0) : nullptr;
}

// The group's own comment; of a member of a choice, its type's.
std::string GroupComment(const FieldDescriptor* field) {
  const std::string own = CommentOf(field->full_name());
  const std::string type = CommentOf(field->message_type()->full_name());
  const bool prefer_type = field->containing_oneof() != nullptr || own.empty();
  return prefer_type && !type.empty() ? type : own;
}

void DescribeBelow(const Descriptor* type, const std::string& prefix, std::vector<ParamInfo>* infos) {
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (field->is_repeated() || IsMade(field)) continue;
    if (IsGroup(field) && field->message_type()->file()->package() == "google.protobuf") continue;
    infos->push_back(DescribeField(field, prefix));
    if (!infos->back().is_group) continue;
    const std::size_t below = infos->size();
    DescribeBelow(field->message_type(), JoinPath(prefix, field->name()), infos);
    if (!field->options().GetExtension(v1::param).no_columns()) continue;
    for (std::size_t j = below; j < infos->size(); ++j) (*infos)[j].column.clear();
  }
}

std::string Escaped(const std::string& text) { return absl::StrReplaceAll(text, {{"|", "\\|"}}); }

std::string Code(const std::string& text) { return text.empty() ? "" : "`" + Escaped(text) + "`"; }

// Breaks at spaces so that no line is longer than `width`, where words allow it.
std::string Wrapped(const std::string& text, int indent, int width) {
  std::string result;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) result += std::string(static_cast<std::size_t>(indent), ' ') + line + "\n";
    line.clear();
  };
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(text, ' '))) {
    if (static_cast<int>(line.size() + word.size()) + indent + 1 > width) flush();
    line += (line.empty() ? "" : " ") + word;
  }
  flush();
  return result;
}

std::string PresetTable() {
  std::string page =
      "## Presets\n\n"
      "`model.<architecture>.preset` fills these fields where they are not given. A vocabulary, a number of "
      "positions or an image that the\n"
      "preset does not name comes from the data.\n\n"
      "| architecture | preset | fields | from |\n"
      "|---|---|---|---|\n";
  for (const Preset& preset : Presets()) {
    std::string fields;
    for (const auto& [name, value] : preset.fields)
      fields += (fields.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(value);
    page += "| " + std::string(preset.architecture) + " | `" + std::string(preset.name) + "` | " + fields +
            " | " + (preset.parameters == 0 ? std::string() : std::to_string(preset.parameters)) + " | " +
            std::string(preset.source) + " |\n";
  }
  return page;
}

}  // namespace

ParamInfo DescribeField(const FieldDescriptor* field, const std::string& prefix) {
  const v1::ParamOptions& param = field->options().GetExtension(v1::param);
  ParamInfo info;
  info.path = JoinPath(prefix, field->name());
  info.symbol = param.symbol();
  info.column = param.column();
  info.required = param.required();
  info.incidental = param.incidental();
  if (const OneofDescriptor* choice = field->containing_oneof())
    info.choice = JoinPath(prefix, choice->name());
  info.is_group = IsGroup(field);
  if (!info.is_group) {
    info.type = TypeText(field);
    info.default_text = DefaultText(field);
    info.range = RangeText(field);
    info.comment = CommentOf(field->full_name());
    return info;
  }
  info.type = field->message_type()->field_count() == 0 ? "{}" : "group";
  info.comment = GroupComment(field);
  if (const OneofDescriptor* choice = ChoiceOf(field->message_type())) {
    info.type = "choice: ";
    for (int i = 0; i < choice->field_count(); ++i)
      info.type += (i == 0 ? "" : " | ") + choice->field(i)->name();
    const v1::ChoiceOptions& options = choice->options().GetExtension(v1::choice);
    info.default_text = options.default_member();
    info.column = options.column();
    info.required = options.required();
  }
  return info;
}

std::string Facts(const ParamInfo& info) {
  std::string text = info.type;
  const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (!info.range.empty()) add(info.range);
  if (!info.default_text.empty()) add("default " + info.default_text);
  if (info.required) add("required");
  if (info.incidental) add("does not decide the result");
  return text;
}

std::vector<ParamInfo> DescribeParams(const Descriptor* root) {
  std::vector<ParamInfo> infos;
  DescribeBelow(root, "", &infos);
  return infos;
}

const std::vector<ParamInfo>& TrialParams() {
  static const std::vector<ParamInfo> params = DescribeParams(v1::TrialSpec::descriptor());
  return params;
}

std::string ParamsMarkdown() {
  std::string page =
      "# Parameters of a trial\n\n"
      "Generated from the messages in proto/inlier/v1; `inlier params` prints the same. A path is a key in a "
      "sweep's `base` and `set`, the `field` of an axis, and what\n"
      "`--set` takes. *Column* is the name in the database's view `trials`. Of a choice exactly one member "
      "is given.\n";
  std::string section;
  for (const ParamInfo& info : TrialParams()) {
    const std::string top = info.path.substr(0, info.path.find('.'));
    const bool own_section = info.is_group && info.path == top;
    const std::string wanted = info.path == top && !info.is_group ? "trial" : top;
    if (wanted != section) {
      section = wanted;
      page += "\n## " + section + "\n\n";
      if (own_section)
        page += info.comment + (info.type == "group" ? "" : " (" + Facts(info) + ".)") + "\n\n";
      page += "| path | what it takes | column | symbol | meaning |\n|---|---|---|---|---|\n";
    }
    if (own_section) continue;
    const std::string symbol = info.symbol.empty() ? "" : "$" + Escaped(info.symbol) + "$";
    page += "| " + Code(info.path) + " | " + Escaped(Facts(info)) + " | " + Code(info.column) + " | " +
            symbol + " | " + Escaped(info.comment) + " |\n";
  }
  return page + "\n" + PresetTable();
}

std::vector<ParamInfo> ParamsWith(std::string_view filter, const std::vector<ParamInfo>& all) {
  const std::vector<std::string> words =
      absl::StrSplit(absl::AsciiStrToLower(std::string(filter)), absl::ByAnyChar(" \t"), absl::SkipEmpty());
  std::vector<ParamInfo> params;
  for (const ParamInfo& info : all) {
    const std::string haystack =
        absl::AsciiStrToLower(absl::StrCat(info.path, " ", info.column, " ", info.comment));
    const bool matches = std::ranges::all_of(
        words, [&](const std::string& word) { return absl::StrContains(haystack, word); });
    if (matches) params.push_back(info);
  }
  return params;
}

std::string ParamsText(const std::vector<ParamInfo>& params, int width) {
  std::string text;
  for (const ParamInfo& info : params) {
    text += info.path + "\n" + Wrapped(Facts(info), 4, width) + Wrapped(info.comment, 4, width);
  }
  return text;
}

}  // namespace inlier
