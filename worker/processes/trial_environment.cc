#include "worker/processes/trial_environment.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_split.h"

namespace inlier {
namespace {

// With * at its end: every name that begins so. The list is in docs/guides/access.md.
constexpr char kUsual[] =
    "PATH HOME USER LOGNAME SHELL TERM TZ LANG LANGUAGE LC_* TMPDIR TEMP TMP LD_LIBRARY_PATH LD_PRELOAD "
    "MALLOC_* GLIBC_TUNABLES CUDA_* NVIDIA_* CUBLAS_* CUDNN_* NCCL_* TORCH_* PYTORCH_* OMP_* GOMP_* KMP_* "
    "MKL_* OPENBLAS_* ASAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS INLIER_FAILPOINTS";

bool Matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

std::string_view NameOf(std::string_view entry) { return entry.substr(0, entry.find('=')); }

}  // namespace

bool IsSecretVariable(std::string_view name) {
  // The key pair of the bucket.
  if (name == "AWS_ACCESS_KEY_ID" || name == "AWS_SECRET_ACCESS_KEY" || name == "AWS_SESSION_TOKEN")
    return true;
  return name.starts_with("INLIER_") && name.find("TOKEN") != std::string_view::npos;
}

std::vector<std::string> TrialEnvironment(const std::vector<std::string>& further,
                                          const std::vector<std::string>& changes) {
  std::vector<std::string> environment, passed = absl::StrSplit(kUsual, ' ');
  passed.insert(passed.end(), further.begin(), further.end());
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name = NameOf(*entry);
    const auto matches = [name](std::string_view pattern) { return Matches(name, pattern); };
    const auto is_changed = [name](const std::string& change) { return NameOf(change) == name; };
    if (IsSecretVariable(name) || std::ranges::any_of(changes, is_changed)) continue;
    if (std::ranges::any_of(passed, matches)) environment.emplace_back(*entry);
  }
  environment.insert(environment.end(), changes.begin(), changes.end());
  return environment;
}

}  // namespace inlier
