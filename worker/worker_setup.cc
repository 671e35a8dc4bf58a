#include "worker/worker_setup.h"

#include <unistd.h>

#include <array>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/data/data_dir.h"
#include "base/files/file.h"
#include "base/run_program.h"
#include "base/status.h"
#include "base/utf8.h"
#include "base/version.h"
#include "rpc/rpc.h"
#include "s3/client.h"
#include "spec/schema/plain_name.h"
#include "worker/processes/trial_environment.h"
#include "worker/programs/container.h"
#include "worker/programs/program_roots.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr int kVersionSecondsMax = 60;

absl::Status MakeAbsolute(std::string* path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(*path, error);
  if (error)
    return absl::InvalidArgumentError(
        absl::StrCat("the path '", *path, "' cannot be resolved: ", error.message()));
  *path = absolute.lexically_normal().string();
  return absl::OkStatus();
}

absl::Status CheckEnvironmentName(const std::string& name) {
  const std::string_view stem = std::string_view(name).substr(0, name.size() - name.ends_with('*'));
  const bool valid = !stem.empty() && stem.find_first_of("=*") == std::string_view::npos;
  if (valid && !IsSecretVariable(stem)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "trial_environment: '", name, "' ",
      valid ? "is a token or a key, which no trial may have"
            : "is neither the name of an environment variable nor the beginning of names with * at its end"));
}

}  // namespace

absl::Status ResolveWorkerConfig(v1::WorkerConfig& config) {
  ASSIGN_OR_RETURN(const Address coordinator, ParseAddress(config.coordinator(), "coordinator"));
  if (coordinator.port == 0)
    return absl::InvalidArgumentError("coordinator: port 0 is no address to connect to");
  RETURN_IF_ERROR(MakeAbsolute(config.mutable_state_dir()));
  if (!config.has_data_dir()) config.set_data_dir(DataDirOr(""));
  RETURN_IF_ERROR(MakeAbsolute(config.mutable_data_dir()));
  for (std::string& root : *config.mutable_data_roots()) RETURN_IF_ERROR(MakeAbsolute(&root));
  if (config.has_data_roots_file()) RETURN_IF_ERROR(MakeAbsolute(config.mutable_data_roots_file()));
  for (const std::string& name : config.trial_environment()) RETURN_IF_ERROR(CheckEnvironmentName(name));
  for (v1::ProgramRoot& program : *config.mutable_programs()) {
    RETURN_IF_ERROR(MakeAbsolute(program.mutable_root()));
    for (const std::string& name : program.environment()) RETURN_IF_ERROR(CheckEnvironmentName(name));
    RETURN_IF_ERROR(CheckProgramRoot(program, config));
  }
  for (std::string& root : *config.mutable_program_roots()) RETURN_IF_ERROR(MakeAbsolute(&root));
  ASSIGN_OR_RETURN(
      *config.mutable_container_runtime(),
      FindContainerRuntime(config.has_container_runtime() ? std::optional(config.container_runtime())
                                                          : std::nullopt));
  if (!config.has_cache_dir()) config.set_cache_dir((fs::path(config.state_dir()) / "cache").string());
  RETURN_IF_ERROR(MakeAbsolute(config.mutable_cache_dir()));
  if (!config.has_trial_program()) {
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    if (error)
      return absl::FailedPreconditionError(
          absl::StrCat("cannot find this program's folder: ", error.message()));
    config.set_trial_program((self.parent_path() / "inlier-trial").string());
  }
  RETURN_IF_ERROR(MakeAbsolute(config.mutable_trial_program()));
  if (!config.has_name()) config.set_name(HostName());
  if (!config.name().empty() && !IsPlainName(config.name()))
    return absl::InvalidArgumentError(
        absl::StrCat("name: ", Quoted(config.name()), ": a worker's name has ", kPlainNameForm));
  if (config.artifacts() == v1::WorkerConfig::S3 && !config.has_s3())
    return absl::InvalidArgumentError(
        "artifacts: S3 needs to know the bucket; set s3.bucket and s3.endpoint, or artifacts: AUTO for the "
        "coordinator's");
  if (config.has_s3()) return S3Client::Make(config.s3(), config.insecure()).status();
  return absl::OkStatus();
}

absl::Status PrepareStateFolder(const v1::WorkerConfig& config) {
  const fs::path state = config.state_dir();
  for (const fs::path& folder : {state, state / "attempts", state / "artifacts", state / "outbox"}) {
    RETURN_IF_ERROR(Annotate(MakeWritableFolder(folder), "preparing state_dir"));
  }
  RETURN_IF_ERROR(Annotate(MakeWritableFolder(config.cache_dir()), "preparing cache_dir"));
  return CloseState(config);
}

absl::StatusOr<ClientSecurity> SecurityOf(const v1::WorkerConfig& config) {
  ClientSecurity security;
  security.tls_ca = config.tls_ca();
  security.tls_certificate = config.tls_certificate();
  security.tls_key = config.tls_key();
  security.insecure = config.insecure();
  security.token_file = config.token_file();
  RETURN_IF_ERROR(CheckRenewable(security));
  ASSIGN_OR_RETURN(security.token, ReadToken(config.token_file(), "token_file", config.insecure()));
  RETURN_IF_ERROR(MakeChannelCredentials(security, config.coordinator()).status());
  const Protection protection{.encrypted = !security.tls_ca.empty(),
                              .authenticated = !security.token.empty() || !security.tls_certificate.empty(),
                              .insecure = config.insecure()};
  RETURN_IF_ERROR(CheckExposure(config.http_listen(), "http_listen", protection));
  return security;
}

absl::StatusOr<TrialProgram> CheckTrialProgram(const std::string& program,
                                               const std::vector<std::string>& further_environment) {
  constexpr char kRemedy[] =
      "; install the package inlier-trial, or build it with `make build`, or name one with trial_program";
  if (!fs::exists(program))
    return absl::NotFoundError(absl::StrCat("trial_program ", program, " does not exist", kRemedy));
  const absl::StatusOr<std::string> printed =
      OutputOf({.program = program,
                .arguments = {"--version"},
                .environment = TrialEnvironment(further_environment, {}),
                .limit = std::chrono::seconds(kVersionSecondsMax),
                .output_bytes_max = 16 << 10},
               absl::StrCat("trial_program ", program, " --version"));
  if (!printed.ok()) {
    const bool loader = absl::StrContains(printed.status().message(), "error while loading shared libraries");
    return absl::FailedPreconditionError(
        absl::StrCat(printed.status().message(),
                     loader ? "; put LibTorch back where the build found it (`make setup` installs one), or "
                              "build again with -DINLIER_TORCH_DIR=<folder>"
                            : kRemedy));
  }
  TrialProgram found;
  found.version_text = printed->substr(0, printed->find('\n'));
  found.has_cuda = absl::StrContains((*printed), "CUDA") && !absl::StrContains((*printed), "CUDA not found");
  // "inlier-trial 0.1.0+commit": the part before the plus must be ours.
  const std::string prefix = "inlier-trial ";
  if (absl::StartsWith(found.version_text, prefix)) {
    const std::string build = found.version_text.substr(prefix.size());
    const std::string version = build.substr(0, build.find('+'));
    if (version != Version()) {
      return absl::FailedPreconditionError(absl::StrCat("trial_program ", program, " is of version ", version,
                                                        ", this worker of ", Version(), kRemedy));
    }
  }
  return found;
}

std::string HostName() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unknown";
  return name.data();
}

}  // namespace inlier
