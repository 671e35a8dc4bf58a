#include "spec/program/program_source.h"

#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/environment.h"
#include "base/files/file.h"
#include "base/files/scratch_folder.h"
#include "base/run_program.h"
#include "base/status.h"
#include "base/utf8.h"
#include "spec/program/program_description.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDiffBytesMax = 256 << 10;
constexpr std::uint64_t kFileBytesMax = 1 << 20;
constexpr std::size_t kOutputBytesMax = 64 << 20;
constexpr Duration kTime = std::chrono::seconds(20);
const std::string kEnd(1, '\0');  // Of an entry.

// A folder of a repository. Objects and index that git writes are in a folder of their own.
class Repository {
 public:
  explicit Repository(const fs::path& folder) : folder_(folder) {}

  // NotFound: there is none, or none with a commit.
  absl::Status Open() {
    RETURN_IF_ERROR(MakeFolder(scratch_.path() / "objects"));
    ASSIGN_OR_RETURN(const std::string found, Git({"rev-parse", "--path-format=absolute", "--git-common-dir",
                                                   "--show-prefix", "HEAD"}));
    const std::vector<std::string> lines = absl::StrSplit(found, '\n');
    if (lines.size() < 3) return absl::NotFoundError("git printed no commit");
    objects_ = lines[0] + "/objects";
    prefix_ = lines[1];
    commit_ = lines[2];
    return absl::OkStatus();
  }
  const std::string& commit() const { return commit_; }

  // Of the commit against the program's files as they are now. Names those that are left out in `left_out`.
  absl::StatusOr<std::string> Diff(const v1::ProgramDescription& description, std::string& left_out) const {
    ASSIGN_OR_RETURN(std::string index, Git({"ls-tree", "-r", "-z", "--full-name", "HEAD"}));
    const std::vector<std::string> entries = absl::StrSplit(index, '\0', absl::SkipEmpty());
    for (const std::string& entry : entries) {
      const std::size_t tab = entry.find('\t'), id = entry.rfind(' ', tab) + 1;
      const std::string path = entry.substr(tab + 1 + prefix_.size());
      if (IsProgramFile(description, path) && !fs::exists(fs::symlink_status(folder_ / path)))
        absl::StrAppend(&index, "0 ", entry.substr(id), kEnd);  // Removed since.
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> all, ProgramFiles(folder_, description));
    std::vector<std::string> files;
    std::string paths;
    for (const std::string& file : all) {
      const bool large = SizeOf(folder_ / file) > kFileBytesMax;
      if (large) absl::StrAppend(&left_out, "# larger than ", kFileBytesMax >> 20, " MiB: ", file, "\n");
      if (large) continue;
      files.push_back(file);
      absl::StrAppend(&paths, (folder_ / file).string(), "\n");
    }
    ASSIGN_OR_RETURN(const std::string ids,
                     Git({"hash-object", "-w", "--no-filters", "--stdin-paths"}, paths));
    const std::vector<std::string> id = absl::StrSplit(ids, '\n');
    if (id.size() != files.size() + 1) return absl::UnavailableError("git did not read every file");
    for (std::size_t i = 0; i < files.size(); ++i)
      absl::StrAppend(&index, ModeOf(folder_ / files[i]), " ", id[i], "\t", prefix_, files[i], kEnd);
    RETURN_IF_ERROR(Git({"update-index", "-z", "--index-info"}, index).status());
    return Git({"diff-index", "--cached", "-p", "--no-ext-diff", "--no-textconv", "--no-renames",
                "--relative", "HEAD"});
  }

 private:
  static const char* ModeOf(const fs::path& file) {
    std::error_code ignored;
    const bool runs = (fs::status(file, ignored).permissions() & fs::perms::owner_exec) != fs::perms::none;
    return runs ? "100755" : "100644";
  }

  absl::StatusOr<std::string> Git(std::vector<std::string> words, const std::string& input = "") const {
    words.insert(words.begin(),
                 {"git", "-C", folder_.string(), "-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null"});
    const auto own = [this](const char* name) { return (scratch_.path() / name).string(); };
    ASSIGN_OR_RETURN(
        const ProgramEnd end,
        RunToEnd({.program = "/usr/bin/env",
                  .arguments = words,
                  .environment = {"PATH=" + EnvironmentVariableOr("PATH", "/usr/bin:/bin"),
                                  "HOME=" + EnvironmentVariableOr("HOME", "/"), "LC_ALL=C",
                                  "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=none",
                                  "GIT_INDEX_FILE=" + own("index"), "GIT_OBJECT_DIRECTORY=" + own("objects"),
                                  "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + objects_},
                  .input = input,
                  .limit = kTime,
                  .output_bytes_max = kOutputBytesMax},
                 [] { return false; }));
    if (end.Succeeded() && end.output.size() < kOutputBytesMax) return end.output;
    return absl::UnavailableError(absl::StrCat("git ", words[7], ": ",
                                               end.Succeeded() ? "it printed too much"
                                               : end.status    ? end.HowText()
                                                               : "it took too long",
                                               " ", Quoted(end.errors)));
  }

  const fs::path folder_;
  const ScratchFolder scratch_{"source"};
  std::string objects_, prefix_, commit_;
};

}  // namespace

std::optional<v1::ProgramSource> SourceOfProgram(const fs::path& folder,
                                                 const v1::ProgramDescription& description) {
  Repository repository(folder);
  if (!repository.Open().ok()) return std::nullopt;
  v1::ProgramSource source;
  source.set_commit(repository.commit());
  std::string notes;
  const absl::StatusOr<std::string> diff = repository.Diff(description, notes);
  if (!diff.ok()) {
    source.set_diff(absl::StrCat("# not known: ", diff.status().message(), "\n"));
    return source;
  }
  const std::string text = ReplaceInvalidUtf8(*diff);
  if (text.size() > kDiffBytesMax)
    absl::StrAppend(&notes, "# the first ", kDiffBytesMax >> 10, " KiB of ", text.size() >> 10, "\n");
  source.set_diff(absl::StrCat(notes.substr(0, kDiffBytesMax), std::string(CutUtf8(text, kDiffBytesMax))));
  return source;
}

}  // namespace inlier
