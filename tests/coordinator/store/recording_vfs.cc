#include "tests/coordinator/store/recording_vfs.h"

#include <algorithm>
#include <fstream>

#include "base/check.h"
#include "tests/coordinator/store/forwarding_file.h"

namespace inlier {
namespace {

using Kind = DiskStep::Kind;

std::vector<DiskStep> recorded;
std::string ignored_ending;

struct Recorded {
  std::string* name;     // Empty: a temporary file, not recorded.
  bool folder_unsynced;  // SQLite syncs the folder with the first sync of a journal or WAL that it made.
};
using File = ForwardingFile<Recorded>;

void Record(sqlite3_file* file, DiskStep step) {
  step.file = *File::Of(file).name;
  if (!step.file.empty()) recorded.push_back(std::move(step));
}

int Close(sqlite3_file* file) {
  delete File::Of(file).name;
  return File::RealMethods(file).xClose(File::Real(file));
}
int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  Record(file, {.kind = Kind::kWrite,
                .file = {},
                .at = offset,
                .bytes = std::string(static_cast<const char*>(data), static_cast<std::size_t>(size))});
  return File::RealMethods(file).xWrite(File::Real(file), data, size, offset);
}
int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  Record(file, {.kind = Kind::kTruncate, .file = {}, .at = size, .bytes = {}});
  return File::RealMethods(file).xTruncate(File::Real(file), size);
}
int Sync(sqlite3_file* file, int) {
  const std::string& name = *File::Of(file).name;
  if (!ignored_ending.empty() && name.ends_with(ignored_ending)) return SQLITE_OK;
  Record(file, {.kind = Kind::kSync, .file = {}, .at = 0, .bytes = {}});
  if (File::Of(file).folder_unsynced)
    recorded.push_back({.kind = Kind::kSyncFolder, .file = {}, .at = 0, .bytes = {}});
  File::Of(file).folder_unsynced = false;
  return SQLITE_OK;
}
const sqlite3_io_methods& Methods() {
  static const sqlite3_io_methods methods = [] {
    sqlite3_io_methods ours = File::Methods();
    ours.xClose = Close;
    ours.xWrite = Write;
    ours.xTruncate = Truncate;
    ours.xSync = Sync;
    return ours;
  }();
  return methods;
}

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  const bool kept = name != nullptr && (flags & SQLITE_OPEN_DELETEONCLOSE) == 0;
  const bool created = kept && (flags & SQLITE_OPEN_CREATE) != 0 && !std::filesystem::exists(name);
  file->pMethods = nullptr;
  const int code = RealVfs()->xOpen(RealVfs(), name, File::Real(file), flags, out_flags);
  if (code != SQLITE_OK) return code;
  file->pMethods = &Methods();
  File::Of(file).name = new std::string(kept ? std::filesystem::path(name).filename().string() : "");
  File::Of(file).folder_unsynced =
      created && (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL)) != 0;
  if (created) Record(file, {.kind = Kind::kCreate, .file = {}, .at = 0, .bytes = {}});
  return code;
}

int Delete(sqlite3_vfs*, const char* name, int sync_folder) {
  const int code = RealVfs()->xDelete(RealVfs(), name, 0);
  if (code != SQLITE_OK) return code;
  recorded.push_back(
      {.kind = Kind::kDelete, .file = std::filesystem::path(name).filename().string(), .at = 0, .bytes = {}});
  if (sync_folder != 0) recorded.push_back({.kind = Kind::kSyncFolder, .file = {}, .at = 0, .bytes = {}});
  return code;
}

sqlite3_vfs& Ours() {
  static sqlite3_vfs vfs = [] {
    sqlite3_vfs copy = File::Vfs("inlier-recording");
    copy.xOpen = Open;
    copy.xDelete = Delete;
    return copy;
  }();
  return vfs;
}

void Apply(const DiskStep& step, std::string& content) {
  const auto at = static_cast<std::size_t>(step.at);
  if (step.kind == Kind::kTruncate) {
    content.resize(at);
    return;
  }
  if (content.size() < at + step.bytes.size()) content.resize(at + step.bytes.size());
  std::copy(step.bytes.begin(), step.bytes.end(), content.begin() + step.at);
}

// A write as the disk does it: one piece for each sector it touches.
std::vector<DiskStep> Sectors(const std::vector<DiskStep>& steps) {
  std::vector<DiskStep> pieces;
  for (const DiskStep& step : steps) {
    if (step.kind != Kind::kWrite) {
      pieces.push_back(step);
      continue;
    }
    const auto size = static_cast<std::int64_t>(step.bytes.size());
    for (std::int64_t done = 0; done < size;) {
      const std::int64_t room = PowerCut::kSectorBytes - (step.at + done) % PowerCut::kSectorBytes;
      const std::int64_t count = std::min(room, size - done);
      pieces.push_back(
          {.kind = Kind::kWrite,
           .file = step.file,
           .at = step.at + done,
           .bytes = step.bytes.substr(static_cast<std::size_t>(done), static_cast<std::size_t>(count))});
      done += count;
    }
  }
  return pieces;
}

}  // namespace

RecordingVfs::RecordingVfs() {
  recorded.clear();
  ignored_ending.clear();
  sqlite3_vfs_register(&Ours(), /*makeDflt=*/1);
}
RecordingVfs::~RecordingVfs() {
  sqlite3_vfs_unregister(&Ours());
  sqlite3_vfs_register(RealVfs(), /*makeDflt=*/1);
}
const std::vector<DiskStep>& RecordingVfs::steps() const { return recorded; }
void RecordingVfs::IgnoreSyncsOf(const std::string& ending) const { ignored_ending = ending; }

void PowerCut::MoveTo(std::size_t position) {
  INLIER_CHECK(position >= position_ && position <= steps_.size());
  for (; position_ < position; ++position_) {
    const DiskStep& step = steps_[position_];
    switch (step.kind) {
      case Kind::kCreate:
        files_[step.file].exists = true;
        files_[step.file].durable.clear();
        files_[step.file].pending.clear();
        break;
      case Kind::kWrite:
      case Kind::kTruncate:
        files_[step.file].pending.push_back(step);
        break;
      case Kind::kSync:
        for (const DiskStep& pending : files_[step.file].pending) Apply(pending, files_[step.file].durable);
        files_[step.file].pending.clear();
        break;
      case Kind::kSyncFolder:
        for (auto& [name, file] : files_) file.entry_durable = file.exists;
        break;
      case Kind::kDelete:
        files_[step.file].exists = false;
        break;
    }
  }
}

std::string PowerCut::Contents(const File& file, Loss loss, std::mt19937_64& random) const {
  std::string content = file.durable;
  if (loss == Loss::kAll) return content;
  std::vector<DiskStep> pending =
      loss == Loss::kSectors || loss == Loss::kTail ? Sectors(file.pending) : file.pending;
  if (loss == Loss::kTail) pending.resize(random() % (pending.size() + 1));
  for (const DiskStep& step : pending) {
    const bool lost = (loss == Loss::kWrites || loss == Loss::kSectors) && random() % 2 == 0;
    if (!lost) Apply(step, content);
  }
  return content;
}

void PowerCut::Materialise(Loss loss, std::mt19937_64& random, const std::filesystem::path& folder) const {
  for (const auto& [name, file] : files_) {
    // A file whose entry was not synced is there or not as chance has it.
    bool there = file.exists;
    if (loss == Loss::kAll) there = file.entry_durable;
    if (loss != Loss::kAll && loss != Loss::kNone && file.exists != file.entry_durable)
      there = random() % 2 == 0;
    if (!there) continue;
    std::ofstream(folder / name, std::ios::binary) << Contents(file, loss, random);
  }
}

}  // namespace inlier
