#include "cli/connection/local_roots.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/status.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Adds every text of `message`, and of the messages in it, that may be an absolute path.
void AddPaths(const Message& message, std::set<std::string>* paths) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> present;
  reflection.ListFields(message, &present);
  for (const FieldDescriptor* field : present) {
    const bool text = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    if (!text && field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (!text) {
        AddPaths(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                      : reflection.GetMessage(message, field),
                 paths);
        continue;
      }
      std::string value = field->is_repeated() ? reflection.GetRepeatedString(message, field, i)
                                               : reflection.GetString(message, field);
      if (absl::StartsWith(value, "/") && !absl::StrContains(value, '\n')) paths->insert(std::move(value));
    }
  }
}

// Adds `path` with its links resolved where this process may read it.
void AddReadable(const fs::path& path, std::set<std::string>* readable) {
  std::error_code error;
  fs::path resolved = fs::canonical(path, error);
  if (!error && resolved.has_relative_path() && ::access(resolved.c_str(), R_OK) == 0)
    readable->insert(resolved.string());
}

}  // namespace

fs::path LocalRootsFile(const fs::path& dir) { return dir / "data_roots"; }

std::vector<std::string> ReadablePathsOf(const v1::SweepSpec& sweep) {
  std::set<std::string> named, readable;
  AddPaths(sweep.base(), &named);
  for (const v1::Axis& axis : sweep.axes()) AddPaths(axis, &named);
  for (const fs::path path : named) {
    if (!path.has_relative_path()) continue;  // "/" would be every file.
    AddReadable(path, &readable);
    std::error_code error;
    if (absl::EndsWith(path.native(), "vocab.json")) AddReadable(path.parent_path(), &readable);
    if (!fs::is_directory(path, error)) continue;
    for (const fs::path& entry : EntriesOf(path)) {
      if (fs::is_symlink(entry, error)) AddReadable(entry, &readable);
    }
  }
  return {readable.begin(), readable.end()};
}

absl::Status AddLocalRoots(const fs::path& dir, const std::vector<std::string>& paths) {
  if (paths.empty()) return absl::OkStatus();
  const fs::path file = LocalRootsFile(dir);
  ASSIGN_OR_RETURN(const FileLock lock, FileLock::Acquire(file.string() + ".lock", nullptr));
  std::string text;
  if (SizeOf(file) > 0) {
    ASSIGN_OR_RETURN(text, ReadFile(file));
  }
  const std::vector<std::string> there = absl::StrSplit(text, '\n');
  const std::size_t before = text.size();
  for (const std::string& path : paths) {
    if (std::ranges::find(there, path) == there.end()) absl::StrAppend(&text, path, "\n");
  }
  return text.size() == before ? absl::OkStatus() : WriteFileAtomically(file, text, 0600);
}

}  // namespace inlier
