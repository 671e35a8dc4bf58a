#include "worker/programs/program_roots.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/processes/other_user.h"
#include "base/status.h"
#include "spec/program/find_program.h"
#include "spec/program/program_description.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

bool HasUser(const v1::ProgramRoot& program) { return program.has_user(); }

// By trying it: groups, access lists and the folders above decide too.
bool CanOpen(const std::string& user, const fs::path& path, int flags) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(BecomeUser(user) == nullptr && ::open(path.c_str(), flags) >= 0 ? 0 : 1);
  int status = 1;
  return pid > 0 && ::waitpid(pid, &status, 0) == pid && status == 0;
}

absl::Status CheckUser(const v1::ProgramRoot& root, const v1::WorkerConfig& config) {
  if (!root.has_user()) return absl::OkStatus();
  const passwd* const user = ::getpwnam(root.user().c_str());
  if (user == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("programs.user: there is no user ", root.user(), " on this machine"));
  if (::geteuid() != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("programs.user: only a worker that runs as root can run a program as ", root.user(),
                     "; leave it out, or start the worker as root"));
  for (const auto& [field, file] :
       {std::pair("token_file", config.token_file()), std::pair("tls_key", config.tls_key()),
        std::pair("s3.credentials_file", config.s3().credentials_file())}) {
    if (!file.empty() && CanOpen(root.user(), file, O_RDONLY))
      return absl::InvalidArgumentError(
          absl::StrCat("programs.user: ", root.user(), " can read ", field, " ", file, "; chmod 600 it"));
  }
  return absl::OkStatus();
}

absl::Status RemoveRights(const fs::path& path) {
  std::error_code error;
  fs::permissions(path, fs::perms::group_all | fs::perms::others_all, fs::perm_options::remove, error);
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot close ", path.string(), " to other users: ", error.message()));
}

bool Describes(const fs::path& folder, const std::string& name) {
  if (!fs::exists(folder / kProgramFileName)) return false;
  const absl::StatusOr<v1::ProgramDescription> read = ReadProgram(folder);
  return read.ok() && read->name() == name;
}

}  // namespace

absl::Status CheckProgramRoot(const v1::ProgramRoot& root, const v1::WorkerConfig& config) {
  if (root.root().empty())
    return absl::InvalidArgumentError("programs.root: is missing; give the folder of a program");
  if (!fs::is_directory(root.root()))
    return absl::NotFoundError(absl::StrCat("programs.root: there is no folder ", root.root()));
  RETURN_IF_ERROR(Annotate(ReadProgram(root.root()).status(), "reading programs.root"));
  return CheckUser(root, config);
}

absl::Status CloseState(const v1::WorkerConfig& config) {
  if (std::ranges::none_of(config.programs(), HasUser)) return absl::OkStatus();
  const fs::path state = config.state_dir(), attempts = state / "attempts";
  std::vector<fs::path> entries = EntriesOf(state);
  for (const fs::path& stage : EntriesOf(attempts)) entries.push_back(stage);
  for (const fs::path& entry : entries) RETURN_IF_ERROR(RemoveRights(entry));
  if (::chmod(attempts.c_str(), 0711) != 0)
    return ErrnoStatus(absl::StrCat("cannot open ", attempts.string()));
  for (const v1::ProgramRoot& program : config.programs()) {
    if (program.has_user() && !CanOpen(program.user(), attempts / ".", O_PATH))
      return absl::InvalidArgumentError(
          absl::StrCat("programs.user: ", program.user(), " cannot enter state_dir ", state.string(),
                       ", where its attempts are; chmod o+x it and the folders above it"));
  }
  return absl::OkStatus();
}

const std::string& SourceOf(const v1::ProgramTrial& program) {
  return program.has_source() ? program.source() : program.digest();
}

absl::StatusOr<v1::ProgramRoot> FindProgramRoot(const AttemptSettings& settings,
                                                const v1::ProgramTrial& wanted) {
  const std::string& name = wanted.name();
  std::vector<v1::ProgramRoot> found;
  for (const v1::ProgramRoot& program : settings.programs) {
    if (program.has_name() ? program.name() == name : Describes(program.root(), name))
      found.push_back(program);
  }
  // For the folder of an entry of `programs` that entry decides: which name it has, and as whom it runs.
  const auto has_entry = [&](const fs::path& at) {
    std::error_code ignored;
    return std::ranges::any_of(settings.programs,
                               [&](const auto& entry) { return fs::equivalent(entry.root(), at, ignored); });
  };
  for (const std::string& root : settings.program_roots) {
    std::vector<fs::path> folders = EntriesOf(root);
    folders.insert(folders.begin(), root);
    for (const fs::path& folder : folders) {
      if (Describes(folder, name) && !has_entry(folder)) found.emplace_back().set_root(folder.string());
    }
  }
  const auto has_source = [&](const v1::ProgramRoot& program) {
    const absl::StatusOr<v1::ProgramUse> use = UseOfProgram(program.root());
    return use.ok() && use->digest() == SourceOf(wanted);
  };
  if (found.size() > 1) {
    const auto same = std::ranges::find_if(found, has_source);
    return same == found.end() ? found.front() : *same;
  }
  if (!found.empty()) return found.front();
  return absl::InvalidArgumentError(absl::StrCat(
      "this worker may not run the program ", name,
      "; its owner names the program's folder in programs or program_roots of the worker's configuration"));
}

v1::ProgramRoot ProgramRootAt(const AttemptSettings& settings, const std::string& name,
                              const std::string& folder) {
  const auto found = std::ranges::find_if(settings.programs, [&](const v1::ProgramRoot& program) {
    return program.root() == folder && (!program.has_name() || program.name() == name);
  });
  return found == settings.programs.end() ? v1::ProgramRoot() : *found;
}

absl::Status MakeClosedFolder(const AttemptSettings& settings, const v1::AttemptSpec& spec,
                              const fs::path& folder) {
  RETURN_IF_ERROR(MakeFolder(folder));
  if (std::ranges::none_of(settings.programs, HasUser)) return absl::OkStatus();
  const v1::ProgramRoot program = ProgramRootAt(settings, spec.spec().program().name(), spec.program_root());
  const passwd* const found = program.has_user() ? ::getpwnam(program.user().c_str()) : nullptr;
  if ((found == nullptr || ::chown(folder.c_str(), 0, found->pw_gid) == 0) &&
      ::chmod(folder.c_str(), found == nullptr ? 0700 : 0750) == 0 &&
      ::chmod(folder.parent_path().c_str(), 0711) == 0)
    return absl::OkStatus();
  return ErrnoStatus(absl::StrCat("cannot close ", folder.string(), " to other users"));
}

absl::StatusOr<std::string> OwnProgram() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) return self.string();
  return absl::FailedPreconditionError(absl::StrCat("cannot find this program: ", error.message()));
}

}  // namespace inlier
