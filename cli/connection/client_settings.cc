#include "cli/connection/client_settings.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "base/status.h"
#include "spec/schema/did_you_mean.h"
#include "spec/schema/yaml_document.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileBytesMax = 64 << 10;

struct Key {
  const char* name;
  std::string ClientSettings::*field;
  bool path;
};
constexpr Key kKeys[] = {
    {"server", &ClientSettings::server, false},  {"dir", &ClientSettings::dir, true},
    {"tls_ca", &ClientSettings::tls_ca, true},   {"tls_certificate", &ClientSettings::tls_certificate, true},
    {"tls_key", &ClientSettings::tls_key, true}, {"token_file", &ClientSettings::token_file, true},
};

// Null for an unknown name; `known` gets all that there are.
const Key* FindKey(const std::string& name, std::vector<std::string>& known) {
  for (const Key& key : kKeys) {
    if (key.name == name) return &key;
    known.emplace_back(key.name);
  }
  return nullptr;
}

// True for comments and blank lines alone.
bool HasNoSetting(const std::string& text) {
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string::npos && line[first] != '#') return false;
  }
  return true;
}

std::string PathOf(const std::string& text, const fs::path& folder, const std::string& home) {
  if (!home.empty() && absl::StartsWith(text, "~/")) return (fs::path(home) / text.substr(2)).string();
  return (folder / text).lexically_normal().string();
}

}  // namespace

fs::path ClientFile(const char* xdg_config_home, const char* home) {
  const auto is_set = [](const char* value) { return value != nullptr && *value != '\0'; };
  if (is_set(xdg_config_home)) return fs::path(xdg_config_home) / "inlier" / "client.yaml";
  return is_set(home) ? fs::path(home) / ".config" / "inlier" / "client.yaml" : fs::path();
}

absl::StatusOr<ClientSettings> ReadClientFile(const fs::path& file, const std::string& home) {
  if (file.empty()) return ClientSettings();
  const absl::StatusOr<std::string> text = ReadSmallFile(file, kFileBytesMax);
  if (absl::IsNotFound(text.status())) return ClientSettings();
  RETURN_IF_ERROR(text.status());
  if (HasNoSetting(*text)) return ClientSettings();
  const auto wrong = [&file](const SourceMap::Position& at, const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(file.string(), ":", at.line, ":", at.column, ": ", what));
  };
  const YamlDocument document = ParseYaml(*text);
  if (document.root == nullptr) return wrong(document.error_position, document.error);
  ClientSettings settings;
  if (document.root->kind != YamlNode::kMap)
    return wrong(document.root->position, "expected a mapping, for example server: head:7420");
  for (const YamlNode::Entry& entry : document.root->entries) {
    std::vector<std::string> known;
    const Key* key = FindKey(entry.key, known);
    if (key == nullptr)
      return wrong(entry.position,
                   absl::StrCat("unknown key \"", entry.key, "\"", DidYouMean(entry.key, known)));
    std::string& field = settings.*key->field;
    if (!field.empty())
      return wrong(entry.position, absl::StrCat("\"", entry.key, "\" is there twice; remove one"));
    if (entry.value->kind != YamlNode::kScalar || entry.value->text.empty())
      return wrong(entry.value->position, absl::StrCat(entry.key, ": expected a text"));
    field = key->path ? PathOf(entry.value->text, file.parent_path(), home) : entry.value->text;
  }
  return settings;
}

ClientChoice ChooseCoordinator(const ClientSettings& flags, const ClientSettings& environment,
                               const ClientSettings& file, const std::string& file_name) {
  struct Level {
    const ClientSettings& settings;
    std::string server_name, dir_name;
  };
  const Level levels[] = {{flags, "--server", "--dir"},
                          {environment, "INLIER_SERVER", "INLIER_DIR"},
                          {file, file_name, file_name}};
  ClientChoice choice;
  choice.dir = kDefaultDir;
  for (const Level& level : levels) {
    if (!level.settings.server.empty() && !choice.named()) {
      choice.server = level.settings.server;
      choice.server_by = level.server_name;
    }
    if (!level.settings.dir.empty() && choice.dir_by.empty()) {
      choice.dir = level.settings.dir;
      choice.dir_by = level.dir_name;
    }
  }
  const bool names_nothing = file.server.empty() && file.dir.empty();
  if (names_nothing || choice.by() == file_name) choice.credentials = file;
  choice.credentials.server = choice.credentials.dir = "";
  return choice;
}

}  // namespace inlier
