#include "worker/programs/program_roots.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files/file.h"
#include "base/status.h"
#include "spec/program/find_program.h"
#include "spec/program/program_description.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

absl::Status CheckUser(const v1::ProgramRoot& root, const std::string& token_file) {
  if (!root.has_user()) return absl::OkStatus();
  const passwd* const user = ::getpwnam(root.user().c_str());
  if (user == nullptr)
    return absl::InvalidArgumentError(
        absl::StrCat("programs.user: there is no user ", root.user(), " on this machine"));
  if (::geteuid() != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("programs.user: only a worker that runs as root can run a program as ", root.user(),
                     "; leave it out, or start the worker as root"));
  struct stat token {};
  if (token_file.empty() || ::stat(token_file.c_str(), &token) != 0) return absl::OkStatus();
  const bool readable = (token.st_mode & S_IROTH) != 0 ||
                        (token.st_uid == user->pw_uid && (token.st_mode & S_IRUSR) != 0) ||
                        (token.st_gid == user->pw_gid && (token.st_mode & S_IRGRP) != 0);
  if (!readable) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("programs.user: ", root.user(), " can read token_file ", token_file, "; chmod 600 it"));
}

bool Describes(const fs::path& folder, const std::string& name) {
  if (!fs::exists(folder / kProgramFileName)) return false;
  const absl::StatusOr<v1::ProgramDescription> read = ReadProgram(folder);
  return read.ok() && read->name() == name;
}

}  // namespace

absl::Status CheckProgramRoot(const v1::ProgramRoot& root, const std::string& token_file) {
  if (root.root().empty())
    return absl::InvalidArgumentError("programs.root: is missing; give the folder of a program");
  if (!fs::is_directory(root.root()))
    return absl::NotFoundError(absl::StrCat("programs.root: there is no folder ", root.root()));
  RETURN_IF_ERROR(Annotate(ReadProgram(root.root()).status(), "reading programs.root"));
  return CheckUser(root, token_file);
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
  for (const std::string& root : settings.program_roots) {
    std::vector<fs::path> folders = EntriesOf(root);
    folders.insert(folders.begin(), root);
    for (const fs::path& folder : folders) {
      if (Describes(folder, name)) found.emplace_back().set_root(folder.string());
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

absl::Status GiveTo(const std::string& user, const fs::path& folder) {
  if (user.empty()) return absl::OkStatus();
  const passwd* const found = ::getpwnam(user.c_str());
  if (found != nullptr && ::chown(folder.c_str(), found->pw_uid, found->pw_gid) == 0) return absl::OkStatus();
  return ErrnoStatus(absl::StrCat("cannot give ", folder.string(), " to ", user));
}

absl::StatusOr<std::string> OwnProgram() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) return self.string();
  return absl::FailedPreconditionError(absl::StrCat("cannot find this program: ", error.message()));
}

}  // namespace inlier
