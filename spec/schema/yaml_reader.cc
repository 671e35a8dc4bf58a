#include "spec/schema/yaml_reader.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/files/file.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inlier/v1/sweep_spec.pb.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/duplicate_checker.h"
#include "spec/schema/field_path.h"
#include "spec/schema/number_text.h"
#include "spec/schema/param_range.h"
#include "spec/schema/path_text.h"
#include "spec/schema/struct_value.h"
#include "spec/schema/yaml_document.h"

namespace inlier {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::Struct;
using google::protobuf::Value;

std::string OnLine(SourceMap::Position position) { return " on line " + std::to_string(position.line); }

std::string Listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  if (names.size() <= kShown) return absl::StrJoin(names, ", ");
  return absl::StrJoin(names.begin(), names.begin() + kShown, ", ") + ", ...";
}

// Problems with paths `file:line:column: path`.
class Report {
 public:
  explicit Report(std::string file) : file_(std::move(file)) {}

  void Add(SourceMap::Position position, const std::string& path, std::string text) {
    problems_.Add(
        absl::StrCat(file_, ":", position.line, ":", position.column, path.empty() ? "" : ": ", path),
        std::move(text));
  }
  std::size_t count() const { return problems_.count(); }
  absl::Status ToStatus() const { return problems_.ToStatus(file_ + ": "); }

 private:
  std::string file_;
  Problems problems_;
};

// The word null, rather than a value that is missing.
bool IsNull(const YamlNode& node) { return node.kind == YamlNode::kNull && !node.text.empty(); }

// Adds null at a path; false where something is set there.
bool AddNull(std::string_view path, Struct* to) {
  const std::size_t dot = path.find('.');
  Value& value = (*to->mutable_fields())[std::string(path.substr(0, dot))];
  if (dot != std::string_view::npos && value.kind_case() != Value::kNullValue)
    return AddNull(path.substr(dot + 1), value.mutable_struct_value());
  if (value.kind_case() != Value::KIND_NOT_SET) return false;
  value.set_null_value(google::protobuf::NULL_VALUE);
  return true;
}

// Walks nodes and descriptors together. One object reads one document.
class Walker {
 public:
  Walker(Report* report, SourceMap* sources, Message* base, const Environment& environment)
      : report_(report), sources_(sources), base_(base), environment_(environment) {}

  void ReadMessage(const YamlNode& node, const std::string& path, Message* message) {
    DuplicateChecker duplicates;
    ReadGroup(node, path, message, &duplicates);
  }

 private:
  void Wrong(const std::string& path, SourceMap::Position position, std::string text) {
    report_->Add(position, path, std::move(text));
  }

  // Reads a mapping for `message`. One mapping shares `duplicates` with the groups that its paths reach.
  void ReadGroup(const YamlNode& node, const std::string& path, Message* message,
                 DuplicateChecker* duplicates) {
    const Descriptor* type = message->GetDescriptor();
    if (node.kind != YamlNode::kMap) return WrongGroup(node, path, type);
    const YamlNode::Entry* values = nullptr;
    std::map<std::string_view, SourceMap::Position> keys;
    for (const YamlNode::Entry& entry : node.entries) {
      const auto [first, is_first] = keys.try_emplace(entry.key, entry.position);
      if (!is_first) {
        Wrong(JoinPath(path, entry.key), entry.position,
              "is given twice (first" + OnLine(first->second) + "): remove one");
        continue;
      }
      // The type of an axis' values follows from its field, before or after them.
      if (type == v1::Axis::descriptor() && entry.key == "values") {
        values = &entry;
      } else {
        ReadEntry(entry, path, message, duplicates);
      }
    }
    if (values != nullptr) ReadEntry(*values, path, message, duplicates);
  }

  void WrongGroup(const YamlNode& node, const std::string& path, const Descriptor* type) {
    const std::vector<std::string> names = FieldNames(type);
    const std::string fields = names.empty() ? "" : " with fields such as " + Listed(names);
    if (node.kind == YamlNode::kScalar) {
      const FieldDescriptor* member = type->FindFieldByName(node.text);
      if (member != nullptr && member->containing_oneof() != nullptr && IsGroup(member)) {
        return Wrong(path, node.position,
                     "\"" + node.text + "\" must be a mapping; write {" + node.text + ": {}}");
      }
    }
    const std::string found = node.kind == YamlNode::kNull   ? "has no value"
                              : node.kind == YamlNode::kList ? "is a list"
                                                             : Quoted(node.text) + " is a single value";
    Wrong(path, node.position,
          found + "; write a mapping" + (names.empty() ? ": {}" : fields + ", or {} to take it as it is"));
  }

  void ReadEntry(const YamlNode::Entry& entry, const std::string& prefix, Message* message,
                 DuplicateChecker* duplicates) {
    FieldPath path;
    const std::string unknown = FieldPath::TryParse(message->GetDescriptor(), entry.key, &path);
    if (!unknown.empty()) return Wrong(JoinPath(prefix, entry.key), entry.position, unknown);
    Message* at = message;
    std::string at_prefix = prefix;
    for (const FieldDescriptor* field : path.fields()) {
      const std::string problem = duplicates->Enter(at_prefix, field, OnLine(entry.position));
      at_prefix = JoinPath(at_prefix, field->name());
      if (!problem.empty()) return Wrong(at_prefix, entry.position, problem);
      sources_->Record(at_prefix, entry.position);
      if (field != path.field()) at = at->GetReflection()->MutableMessage(at, field);
    }
    const FieldDescriptor* field = path.field();
    // A path in dots may add to a group; a value is set once.
    if (!IsGroup(field) || field->is_repeated() ||
        field->message_type()->file()->package() == "google.protobuf") {
      const std::string problem = duplicates->Claim(at_prefix, OnLine(entry.position));
      if (!problem.empty()) return Wrong(at_prefix, entry.position, problem);
    }
    ReadField(*entry.value, entry.position, field, at_prefix, at, duplicates);
  }

  void ReadField(const YamlNode& node, SourceMap::Position key, const FieldDescriptor* field,
                 const std::string& path, Message* parent, DuplicateChecker* duplicates) {
    const Reflection& reflection = *parent->GetReflection();
    const bool is_label = field->containing_type()->options().map_entry();
    if (IsNull(node) && !field->is_repeated() && !is_label) {
      if (nulls_ != nullptr) nulls_->emplace_back(path, node.position);
      return;
    }
    if (field->is_map()) return ReadMap(node, field, path, parent);
    if (field->is_repeated()) return ReadList(node, field, path, parent);
    if (!IsGroup(field)) return ReadLeaf(node, key, field, path, parent);
    if (field->message_type() == Struct::descriptor())
      return ReadSet(node, path, reflection.MutableMessage(parent, field));
    if (field->message_type() == Value::descriptor()) {
      *static_cast<Value*>(reflection.MutableMessage(parent, field)) = GenericValue(node, path);
      return;
    }
    const bool is_base = base_ != nullptr && field->message_type() == v1::TrialSpec::descriptor();
    ReadGroup(node, path, is_base ? base_ : reflection.MutableMessage(parent, field), duplicates);
  }

  void ReadLeaf(const YamlNode& node, SourceMap::Position key, const FieldDescriptor* field,
                const std::string& path, Message* parent) {
    const bool is_text = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    switch (node.kind) {
      case YamlNode::kNull:
        return Wrong(path, key, "has no value; leave it out to keep the default, or give one");
      case YamlNode::kList:
        return Wrong(
            path, node.position,
            "is a list where one value is meant; give the value alone (several values make an axis)");
      case YamlNode::kMap:
        return Wrong(path, node.position, "is a mapping where one value is meant; give the value alone");
      case YamlNode::kScalar:
        break;
    }
    if (node.quoted && !is_text && field->cpp_type() != FieldDescriptor::CPPTYPE_ENUM) {
      return Wrong(path, node.position, Quoted(node.text) + " is a text; write it without quotes");
    }
    absl::StatusOr<std::string> text = node.text;
    if (environment_ && MayBePath(field)) text = ExpandPath(node.text, environment_);
    if (!text.ok()) return Wrong(path, node.position, std::string(text.status().message()));
    std::string problem = SetLeafText(field, *text, parent);
    if (problem.empty()) problem = RangeProblem(field, *parent);
    if (!problem.empty()) Wrong(path, node.position, std::move(problem));
  }

  void ReadList(const YamlNode& node, const FieldDescriptor* field, const std::string& path,
                Message* parent) {
    if (node.kind != YamlNode::kList) {
      return Wrong(path, node.position,
                   std::string(node.kind == YamlNode::kNull ? "has no value" : "is not a list") +
                       "; write a list: [...]");
    }
    const Reflection& reflection = *parent->GetReflection();
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const YamlNode& item = *node.items[i];
      const std::string item_path = ItemPath(path, i);
      sources_->Record(item_path, item.position);
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        if (item.kind != YamlNode::kScalar) {
          Wrong(item_path, item.position, "is not a single text; write one");
        } else {
          reflection.AddString(parent, field, item.text);
        }
        continue;
      }
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
        const auto number = item.quoted ? std::nullopt : ParseNumber(item.text);  // Lists have no text.
        if (!number)
          Wrong(item_path, item.position,
                Quoted(item.text) + " is not a number; " +
                    (item.quoted ? "write it without quotes" : WhyNotANumber(item.text)));
        reflection.AddDouble(parent, field, number.value_or(0));
        continue;
      }
      Message* added = reflection.AddMessage(parent, field);
      if (added->GetDescriptor() == Value::descriptor()) {
        *static_cast<Value*>(added) = parent->GetDescriptor() == v1::Axis::descriptor()
                                          ? AxisValue(item, item_path, static_cast<const v1::Axis&>(*parent))
                                          : GenericValue(item, item_path);
      } else if (added->GetDescriptor() == v1::Exclusion::descriptor()) {
        ReadExclusion(item, item_path, static_cast<v1::Exclusion*>(added));
      } else if (added->GetDescriptor() == Struct::descriptor()) {
        ReadMap(item, Struct::descriptor()->FindFieldByName("fields"), item_path, added);
      } else {
        ReadMessage(item, item_path, added);
      }
    }
  }

  void ReadMap(const YamlNode& node, const FieldDescriptor* field, const std::string& path, Message* parent) {
    if (node.kind != YamlNode::kMap)
      return Wrong(path, node.position, "is not a mapping; write {name: value}");
    std::set<std::string> keys;
    for (const YamlNode::Entry& entry : node.entries) {
      const std::string entry_path = JoinPath(path, entry.key);
      if (!keys.insert(entry.key).second) {
        Wrong(entry_path, entry.position, "is given twice: remove one");
        continue;
      }
      sources_->Record(entry_path, entry.position);
      Message* added = parent->GetReflection()->AddMessage(parent, field);
      const FieldDescriptor* value = field->message_type()->FindFieldByNumber(2);
      added->GetReflection()->SetString(added, field->message_type()->FindFieldByNumber(1), entry.key);
      DuplicateChecker duplicates;
      ReadField(*entry.value, entry.position, value, entry_path, added, &duplicates);
    }
  }

  // `{match: {method: gated}}`, or shorter `{method: gated}`.
  void ReadExclusion(const YamlNode& node, const std::string& path, v1::Exclusion* exclusion) {
    const bool is_long = node.kind == YamlNode::kMap && node.entries.size() == 1 &&
                         node.entries[0].key == "match" && node.entries[0].value->kind == YamlNode::kMap;
    if (is_long) return ReadMessage(node, path, exclusion);
    ReadMap(node, v1::Exclusion::descriptor()->FindFieldByName("match"), path, exclusion);
  }

  // An empty message of the type that the paths of a sweep name.
  std::unique_ptr<Message> NewTrial() const {
    return std::unique_ptr<Message>(base_ != nullptr ? base_->New() : new v1::TrialSpec());
  }

  // A variant's `set`: a partial trial, kept as a Struct without paths in dots, with its nulls.
  void ReadSet(const YamlNode& node, const std::string& path, Message* result) {
    const std::unique_ptr<Message> partial = NewTrial();
    std::vector<std::pair<std::string, SourceMap::Position>> nulls;
    nulls_ = &nulls;
    ReadMessage(node, path, partial.get());
    nulls_ = nullptr;
    Struct& set = *static_cast<Struct*>(result);
    set = MessageToStruct(*partial);
    for (const auto& [null, position] : nulls) {
      if (!AddNull(std::string_view(null).substr(path.size() + 1), &set))
        Wrong(null, position, "is null, and another key here sets it; keep one of them");
    }
  }

  // A value of the type of the axis' field.
  Value AxisValue(const YamlNode& node, const std::string& path, const v1::Axis& axis) {
    if (axis.has_field()) return FieldValue(node, path, axis.field());
    if (axis.zip_size() == 0 || node.kind != YamlNode::kList) return GenericValue(node, path);
    Value value;
    google::protobuf::ListValue& list = *value.mutable_list_value();
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const std::string item_path = ItemPath(path, i);
      sources_->Record(item_path, node.items[i]->position);
      *list.add_values() = i < static_cast<std::size_t>(axis.zip_size())
                               ? FieldValue(*node.items[i], item_path, axis.zip(static_cast<int>(i)))
                               : GenericValue(*node.items[i], item_path);
    }
    return value;
  }

  Value FieldValue(const YamlNode& node, const std::string& path, const std::string& field) {
    Value value;
    if (node.kind == YamlNode::kNull) {
      value.set_null_value(google::protobuf::NULL_VALUE);
      if (!IsNull(node))
        Wrong(path, node.position, "has no value; null is a point that leaves the field unset");
      return value;
    }
    const std::unique_ptr<Message> scratch = NewTrial();
    FieldPath field_path;
    // The grid reports a path that does not exist or names a group, once and not once a value.
    if (!FieldPath::TryParse(scratch->GetDescriptor(), field, &field_path).empty() || !field_path.is_leaf())
      return GenericValue(node, path);
    Message* parent = field_path.MutableParent(scratch.get());
    const std::size_t before = report_->count();
    ReadLeaf(node, node.position, field_path.field(), path, parent);
    if (report_->count() != before) return value;
    return MessageToStruct(*parent).fields().at(field_path.last_word());
  }

  Value GenericValue(const YamlNode& node, const std::string& path) {
    Value value;
    switch (node.kind) {
      case YamlNode::kNull:
        if (!IsNull(node)) Wrong(path, node.position, "has no value; give one");
        value.set_string_value(node.text);  // The label of a point that leaves a field unset.
        break;
      case YamlNode::kScalar:
        if (!node.quoted) return WrittenValue(node.text);
        value.set_string_value(node.text);
        break;
      case YamlNode::kList:
        value.mutable_list_value();
        for (std::size_t i = 0; i < node.items.size(); ++i)
          *value.mutable_list_value()->add_values() = GenericValue(*node.items[i], ItemPath(path, i));
        break;
      case YamlNode::kMap:
        value.mutable_struct_value();
        for (const YamlNode::Entry& entry : node.entries) {
          auto& fields = *value.mutable_struct_value()->mutable_fields();
          const std::string entry_path = JoinPath(path, entry.key);
          if (fields.count(entry.key) > 0) {
            Wrong(entry_path, entry.position, "is given twice: remove one");
          } else {
            fields[entry.key] = GenericValue(*entry.value, entry_path);
          }
        }
        break;
    }
    return value;
  }

  Report* report_;
  SourceMap* sources_;
  Message* base_;  // nullptr: TrialSpec.
  const Environment& environment_;
  std::vector<std::pair<std::string, SourceMap::Position>>* nulls_ = nullptr;  // Of the `set` that is read.
};

}  // namespace

std::string SourceMap::KnownPart(std::string path) const {
  while (!path.empty() && !positions_.contains(path)) {
    const std::size_t cut = path.find_last_of(".[");
    path.resize(cut == std::string::npos ? 0 : cut);
  }
  return path;
}

SourceMap::Position SourceMap::Locate(const std::string& path) const {
  const auto it = positions_.find(KnownPart(path));
  return it == positions_.end() ? Position() : it->second;
}

int SourceMap::Depth(const std::string& path) const {
  const std::string known = KnownPart(path);
  const auto cuts = std::ranges::count_if(known, [](char c) { return c == '.' || c == '['; });
  return known.empty() ? 0 : 1 + static_cast<int>(cuts);
}

absl::Status SourceMap::ToStatus(const std::string& file, const Problems& problems,
                                 const std::function<std::string(const std::string&)>& path_of) const {
  Report report(file);
  for (const Problem& problem : problems.kept()) {
    const std::string path = path_of(problem.path);
    report.Add(Locate(path), path, problem.text);
  }
  while (report.count() < problems.count()) report.Add({}, "", "");  // Counted only.
  return report.ToStatus();
}

absl::Status ReadYamlText(std::string_view text, const std::string& file, Message* message,
                          SourceMap* positions, const std::function<void(YamlDocument*)>& rewrite) {
  YamlDocument document = ParseYaml(text);
  if (rewrite != nullptr && document.root != nullptr) rewrite(&document);
  return ReadYamlDocument(document, file, message, positions, nullptr);
}

absl::Status ReadYamlDocument(const YamlDocument& document, const std::string& file, Message* message,
                              SourceMap* positions, Message* base, const Environment& environment) {
  SourceMap own;
  Report report(file);
  if (document.root == nullptr) {
    report.Add(document.error_position, "", document.error);
  } else {
    Walker(&report, positions != nullptr ? positions : &own, base, environment)
        .ReadMessage(*document.root, "", message);
  }
  return report.ToStatus();
}

absl::StatusOr<std::string> ReadTextFile(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status))
    return absl::NotFoundError(file.string() + ": there is no such file; check the path");
  if (std::filesystem::is_directory(status))
    return absl::InvalidArgumentError(file.string() + ": is a folder; name a file in it");
  return ReadSmallFile(file, kYamlBytesMax);
}

absl::Status ReadYamlFile(const std::filesystem::path& file, Message* message, SourceMap* positions) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file));
  return ReadYamlText(text, file.string(), message, positions);
}

}  // namespace inlier
