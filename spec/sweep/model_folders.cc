#include "spec/sweep/model_folders.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "spec/hugging_face/config.h"
#include "spec/hugging_face/hub_cache.h"
#include "spec/schema/field_path.h"
#include "spec/schema/problems.h"

namespace inlier {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Node = std::shared_ptr<const YamlNode>;
using Fields = std::vector<std::pair<std::string, std::string>>;  // Paths and values.

constexpr std::string_view kModel = "model";
constexpr std::string_view kFolderKey = "hugging_face";
constexpr std::string_view kStart = "start_from";
constexpr std::string_view kStartFolder = "start_from.hugging_face";  // The end of a path.
constexpr std::string_view kModelOverride = "model.hugging_face=";
constexpr std::string_view kStartOverride = "training.start_from.hugging_face=";

// The present fields of `message` as paths; of a group without any the group itself, with the text "".
void AddFields(const Message& message, const std::string& prefix, Fields* fields) {
  std::vector<const FieldDescriptor*> present;
  message.GetReflection()->ListFields(message, &present);
  if (present.empty()) fields->emplace_back(prefix, "");
  for (const FieldDescriptor* field : present) {
    const std::string path = JoinPath(prefix, field->name());
    if (IsGroup(field)) {
      AddFields(message.GetReflection()->GetMessage(message, field), path, fields);
    } else {
      fields->emplace_back(path, LeafText(field, message));
    }
  }
}

absl::StatusOr<std::filesystem::path> Find(const std::string& name) {
  ASSIGN_OR_RETURN(const std::string folder, ExpandPath(name, &std::getenv));
  return FindModel(folder, HubCache(&std::getenv));
}

// The workers find what an absolute path names.
absl::StatusOr<std::string> StartFolder(const std::string& name) {
  ASSIGN_OR_RETURN(const std::string path, ExpandPath(name, &std::getenv));
  if (path.empty() || path[0] == '/') return path;
  ASSIGN_OR_RETURN(const std::filesystem::path folder, Find(path));
  return folder.string();
}

// The fields of a trial that the folder decides, with their values.
absl::StatusOr<Fields> FieldsOfFolder(const std::string& name) {
  ASSIGN_OR_RETURN(const std::filesystem::path folder, Find(name));
  ASSIGN_OR_RETURN(HuggingFaceConfig config, ReadHuggingFaceConfig(folder, FolderPart::kBody));
  v1::TrialSpec spec;
  *spec.mutable_model() = config.spec.model();
  if (spec.model().has_vit()) spec.mutable_model()->mutable_vit()->clear_classes();  // The data's.
  spec.set_norm(config.spec.norm());
  config.spec.mutable_attention()->clear_dropout();
  if (config.spec.attention().ByteSizeLong() > 0) *spec.mutable_attention() = config.spec.attention();
  Fields fields;
  AddFields(spec, "", &fields);
  return fields;
}

// Adds every path that a mapping gives, of groups too.
void AddGiven(const YamlNode& node, const std::string& prefix, std::vector<std::string>* given) {
  for (const YamlNode::Entry& entry : node.entries) {
    const std::string path = JoinPath(prefix, entry.key);  // A copy: the list moves as it grows.
    given->push_back(path);
    AddGiven(*entry.value, path, given);
  }
}

bool IsFolderEntry(const YamlNode::Entry& entry) {
  return entry.key == kFolderKey && entry.value->kind == YamlNode::kScalar;
}

class Replacer {
 public:
  Replacer(YamlDocument* document, const std::vector<std::string>& overrides) : document_(document) {
    for (const std::string& text : overrides) {
      model_is_set_ |= text.starts_with(kModelOverride);
      start_is_set_ |= text.starts_with(kStartOverride);
    }
  }

  // The node of this key with every model below it replaced; itself where there is none.
  Node Replace(const Node& node, std::string_view key = "") {
    auto changed = std::make_shared<YamlNode>(*node);
    bool is_changed = false;
    const bool was_in_base = std::exchange(in_base_, in_base_ || key == "base");
    for (Node& item : changed->items) {
      const Node before = item;
      is_changed |= (item = Replace(before)) != before;
    }
    for (YamlNode::Entry& entry : changed->entries) {
      const Node before = entry.value;
      const bool is_start =
          entry.key.ends_with(kStartFolder) || (entry.key == kFolderKey && key.ends_with(kStart));
      is_changed |= (entry.value = is_start ? ReplaceStart(before) : Replace(before, entry.key)) != before;
    }
    is_changed |= ReplaceModel(changed.get());
    in_base_ = was_in_base;
    return is_changed ? changed : node;
  }

 private:
  void Fail(const std::string& path, const absl::Status& status, SourceMap::Position position) {
    document_->error = absl::StrCat(path, ": ", status.message());
    document_->error_position = position;
  }

  Node ReplaceStart(const Node& name) {
    if (in_base_ && start_is_set_) return name;
    const absl::StatusOr<std::string> folder = StartFolder(name->text);
    if (!folder.ok()) Fail("training.start_from.hugging_face", folder.status(), name->position);
    if (!folder.ok() || *folder == name->text) return name;
    auto changed = std::make_shared<YamlNode>(*name);
    changed->text = *folder;
    return changed;
  }

  // Replaces the model of a mapping; true where it was a folder.
  bool ReplaceModel(YamlNode* trial) {
    const auto model = std::ranges::find_if(trial->entries,
                                            [](const YamlNode::Entry& entry) { return entry.key == kModel; });
    if (model == trial->entries.end()) return false;
    const auto folder = std::ranges::find_if(model->value->entries, IsFolderEntry);
    if (folder == model->value->entries.end()) return false;
    const SourceMap::Position position = folder->value->position;
    absl::StatusOr<Fields> fields = Fields();
    if (!in_base_ || !model_is_set_) fields = FieldsOfFolder(folder->value->text);
    if (!fields.ok()) {
      Fail("model.hugging_face", fields.status(), position);
      return false;
    }
    auto rest = std::make_shared<YamlNode>(*model->value);
    rest->entries.erase(rest->entries.begin() + (folder - model->value->entries.begin()));
    if (rest->entries.empty()) {
      trial->entries.erase(model);
    } else {
      model->value = rest;
    }
    std::vector<std::string> given;
    AddGiven(*trial, "", &given);
    for (const auto& [path, text] : *fields) {
      if (!IsGiven(path, given)) trial->entries.push_back(EntryOf(path, text, position));
    }
    return true;
  }

  // A given softmax or gate replaces the folder's.
  static bool IsGiven(const std::string& path, const std::vector<std::string>& given) {
    return std::ranges::any_of(given, [&path](const std::string& other) {
      for (const char* choice : {"attention.softmax", "attention.gate"}) {
        if (absl::StartsWith(path, choice) && absl::StartsWith(other, choice)) return true;
      }
      return other == path;
    });
  }

  static YamlNode::Entry EntryOf(const std::string& path, const std::string& text,
                                 SourceMap::Position position) {
    auto value = std::make_shared<YamlNode>();
    value->kind = text.empty() ? YamlNode::kMap : YamlNode::kScalar;
    value->position = position;
    value->text = text;
    return {.key = path, .position = position, .value = value};
  }

  YamlDocument* const document_;
  bool model_is_set_ = false;  // By an override.
  bool start_is_set_ = false;
  bool in_base_ = false;  // Where overrides reach.
};

}  // namespace

std::function<void(YamlDocument*)> ModelFolderReplacer(const std::vector<std::string>& overrides) {
  return [overrides](YamlDocument* document) {
    document->root = Replacer(document, overrides).Replace(document->root);
    if (!document->error.empty()) document->root = nullptr;
  };
}

absl::StatusOr<std::vector<std::string>> ReplaceModelFolders(const std::vector<std::string>& overrides,
                                                             v1::TrialSpec* base) {
  std::vector<std::string> replaced;
  for (const std::string& text : overrides) {
    const std::size_t name = text.find('=') + 1;
    const auto failed = [&text](const absl::Status& status) {
      return absl::InvalidArgumentError(absl::StrCat("--set ", text, ": ", status.message()));
    };
    if (text.starts_with(kModelOverride)) {
      const auto fields = FieldsOfFolder(text.substr(name));
      if (!fields.ok()) return failed(fields.status());
      base->clear_model();
      for (const auto& [path, value] : *fields)
        replaced.push_back(absl::StrCat(path, "=", value.empty() ? "{}" : value));
    } else if (text.starts_with(kStartOverride)) {
      const absl::StatusOr<std::string> folder = StartFolder(text.substr(name));
      if (!folder.ok()) return failed(folder.status());
      replaced.push_back(absl::StrCat(text.substr(0, name), *folder));
    } else {
      replaced.push_back(text);
    }
  }
  return replaced;
}

}  // namespace inlier
