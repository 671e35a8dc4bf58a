#include "spec/hugging_face/hub_cache.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/files/file.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

// "org/name" or "name".
bool IsHubName(const std::string& name) {
  if (name.empty() || name.front() == '.' || name.front() == '/' || name.back() == '/') return false;
  if (std::ranges::count(name, '/') > 1) return false;
  return std::ranges::all_of(
      name, [](unsigned char c) { return std::isalnum(c) || c == '/' || c == '-' || c == '_' || c == '.'; });
}

}  // namespace

fs::path HubCache(const Environment& environment) {
  const auto value = [&environment](const char* name) {
    const char* set = environment(name);
    return fs::path(set == nullptr ? "" : set);
  };
  if (const fs::path cache = value("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const fs::path home = value("HF_HOME"); !home.empty()) return home / "hub";
  const fs::path caches =
      value("XDG_CACHE_HOME").empty() ? value("HOME") / ".cache" : value("XDG_CACHE_HOME");
  return caches / "huggingface" / "hub";
}

absl::StatusOr<fs::path> FindModel(const std::string& name, const fs::path& cache) {
  std::error_code error;
  if (fs::exists(name, error)) return fs::absolute(name).lexically_normal();
  if (!IsHubName(name)) {
    return absl::NotFoundError(absl::StrCat(
        name,
        ": there is no such folder; name one with config.json and model.safetensors, or a model of the "
        "hub (org/name)"));
  }
  const fs::path model = cache / absl::StrCat("models--", absl::StrReplaceAll(name, {{"/", "--"}}));
  const absl::StatusOr<std::string> commit = ReadFile(model / "refs" / "main");
  const fs::path snapshot =
      model / "snapshots" / (commit.ok() ? std::string(absl::StripAsciiWhitespace(*commit)) : "none");
  if (commit.ok() && fs::is_directory(snapshot, error)) return snapshot;
  return absl::NotFoundError(absl::StrCat(name, ": there is no such folder, and the hub's cache ",
                                          cache.string(),
                                          " has no model of that name; download it with `hf "
                                          "download ",
                                          name, "`"));
}

}  // namespace inlier
