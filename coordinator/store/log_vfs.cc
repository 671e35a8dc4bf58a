#include "coordinator/store/log_vfs.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>

#include "base/check.h"
#include "coordinator/store/database.h"
#include "coordinator/store/forwarding_file.h"

namespace inlier {
namespace {

constexpr char kName[] = "inlier-log";
constexpr int kWriteMax = 0x1ffff;    // The unix VFS takes no more at once.
constexpr int kRoomForOthers = 1024;  // For a file of whatever VFS is the default.

// The index of the log (sqlite.org/walformat.html, section 2): the -shm file grows by a block for so many
// frames; the first block has its header too.
constexpr int kLogHeaderBytes = 32;
constexpr int kIndexBlockBytes = 32768;
constexpr int kIndexBlockFrames = 4096;
constexpr int kFirstIndexBlockFrames = 4062;

// What has been written and is not in the file yet.
struct Gathered {
  std::string bytes;
  sqlite3_int64 at = 0;
  // The file took it not, or not all: its transaction is being rolled back, and until the next one writes it
  // is only read. Written later it would be a whole transaction that nobody committed.
  bool refused = false;

  void Drop() {
    bytes.clear();
    refused = false;
  }
  bool Has(int size, sqlite3_int64 offset) const {
    return offset >= at && offset + size <= at + static_cast<sqlite3_int64>(bytes.size());
  }
};

struct Log {
  Gathered* gathered;      // Owned; SQLite makes and frees the allocation around it.
  sqlite3_file* database;  // The file whose log it is.
  int page_bytes;          // The largest write: a page.
  int index_blocks;        // That are known to be there.
};
using File = ForwardingFile<Log>;

// Of the real file. SQLite has a code for a full disk, and none for a quota.
int WriteReal(sqlite3_file* file, const char* data, std::size_t size, sqlite3_int64 at) {
  const int code = File::RealMethods(file).xWrite(File::Real(file), data, static_cast<int>(size), at);
  return code == SQLITE_IOERR_WRITE && OverQuota(File::Real(file)) ? SQLITE_FULL : code;
}

int Flush(sqlite3_file* file) {
  Gathered& gathered = *File::Of(file).gathered;
  if (gathered.bytes.empty() || gathered.refused) return SQLITE_OK;
  const int code = WriteReal(file, gathered.bytes.data(), gathered.bytes.size(), gathered.at);
  if (code == SQLITE_OK) {
    gathered.bytes.clear();
  } else {
    gathered.refused = true;
  }
  return code;
}

// Makes the index long enough for what is gathered. SQLite would do it after the commit has been synced: with
// no space left then, it says that the commit failed, and a crash brings it back.
int GrowIndex(sqlite3_file* file) {
  Log& log = File::Of(file);
  Gathered& gathered = *log.gathered;
  if (gathered.bytes.empty() || gathered.refused) return SQLITE_OK;
  const sqlite3_int64 end = gathered.at + static_cast<sqlite3_int64>(gathered.bytes.size());
  const sqlite3_int64 frames = (end - kLogHeaderBytes) / (log.page_bytes + kWalFrameHeaderBytes);
  const auto blocks = static_cast<int>(
      (frames + kIndexBlockFrames - kFirstIndexBlockFrames + kIndexBlockFrames - 1) / kIndexBlockFrames);
  for (; log.index_blocks < blocks; ++log.index_blocks) {
    void volatile* mapped = nullptr;
    const int code = log.database->pMethods->xShmMap(log.database, log.index_blocks, kIndexBlockBytes,
                                                     /*bExtend=*/1, &mapped);
    if (code == SQLITE_OK) continue;
    gathered.refused = true;
    return code == SQLITE_IOERR_SHMSIZE ? SQLITE_FULL : code;
  }
  return SQLITE_OK;
}

int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  Log& log = File::Of(file);
  Gathered& gathered = *log.gathered;
  if (gathered.refused) gathered.Drop();
  log.page_bytes = std::max(log.page_bytes, size);
  const bool follows = offset == gathered.at + static_cast<sqlite3_int64>(gathered.bytes.size());
  if (!follows || gathered.bytes.size() + static_cast<std::size_t>(size) > kWriteMax) {
    if (const int code = Flush(file); code != SQLITE_OK) return code;
  }
  if (gathered.bytes.empty()) gathered.at = offset;
  gathered.bytes.append(static_cast<const char*>(data), static_cast<std::size_t>(size));
  return SQLITE_OK;
}

int Read(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
  if (const int code = Flush(file); code != SQLITE_OK) return code;
  const Gathered& gathered = *File::Of(file).gathered;
  if (!gathered.Has(size, offset)) return File::RealMethods(file).xRead(File::Real(file), data, size, offset);
  gathered.bytes.copy(static_cast<char*>(data), static_cast<std::size_t>(size),
                      static_cast<std::size_t>(offset - gathered.at));
  return SQLITE_OK;
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (const int code = Flush(file); code != SQLITE_OK) return code;
  File::Of(file).gathered->Drop();
  return File::RealMethods(file).xTruncate(File::Real(file), size);
}

int Sync(sqlite3_file* file, int flags) {
  if (const int code = GrowIndex(file); code != SQLITE_OK) return code;
  if (const int code = Flush(file); code != SQLITE_OK) return code;
  if (File::Of(file).gathered->refused) return SQLITE_FULL;
  return File::RealMethods(file).xSync(File::Real(file), flags);
}

int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  const int code = Flush(file);
  return code == SQLITE_OK ? File::RealMethods(file).xFileSize(File::Real(file), size) : code;
}

// What no commit has synced is nobody's.
int Close(sqlite3_file* file) {
  delete File::Of(file).gathered;
  return File::RealMethods(file).xClose(File::Real(file));
}

const sqlite3_io_methods& Methods() {
  static const sqlite3_io_methods methods = [] {
    sqlite3_io_methods ours = File::Methods();
    ours.xWrite = Write;
    ours.xRead = Read;
    ours.xTruncate = Truncate;
    ours.xSync = Sync;
    ours.xFileSize = FileSize;
    ours.xClose = Close;
    return ours;
  }();
  return methods;
}

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  sqlite3_vfs* const others = sqlite3_vfs_find(nullptr);
  INLIER_CHECK(others->szOsFile <= kRoomForOthers);
  if ((flags & SQLITE_OPEN_WAL) == 0) return others->xOpen(others, name, file, flags, out_flags);
  file->pMethods = nullptr;
  const int code = others->xOpen(others, name, File::Real(file), flags, out_flags);
  if (code != SQLITE_OK) return code;
  File::Of(file) = {.gathered = new Gathered,
                    .database = sqlite3_database_file_object(name),
                    .page_bytes = 0,
                    .index_blocks = 0};
  file->pMethods = &Methods();
  return code;
}

int Delete(sqlite3_vfs*, const char* name, int sync_folder) {
  sqlite3_vfs* const others = sqlite3_vfs_find(nullptr);
  return others->xDelete(others, name, sync_folder);
}

sqlite3_file* LogOf(sqlite3* connection) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&file));
  return file != nullptr && file->pMethods == &Methods() ? file : nullptr;
}

}  // namespace

bool OverQuota(sqlite3_file* file) {
  int error = 0;
  return file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error) == SQLITE_OK && error == EDQUOT;
}

const char* LogVfs() {
  static sqlite3_vfs* const ours = [] {
    static sqlite3_vfs vfs = *RealVfs();
    vfs.zName = kName;
    vfs.szOsFile = static_cast<int>(sizeof(File)) + kRoomForOthers;
    vfs.pNext = nullptr;
    vfs.xOpen = Open;
    vfs.xDelete = Delete;
    INLIER_CHECK(sqlite3_vfs_register(&vfs, /*makeDflt=*/0) == SQLITE_OK);
    return &vfs;
  }();
  return ours->zName;
}

std::int64_t LogFileBytes(sqlite3* connection) {
  sqlite3_file* const file = LogOf(connection);
  sqlite3_int64 size = 0;
  if (file != nullptr && file->pMethods->xFileSize(file, &size) != SQLITE_OK) size = 0;
  return size;
}

absl::Status ReserveLog(sqlite3* connection, std::int64_t bytes) {
  sqlite3_file* const file = LogOf(connection);
  if (file == nullptr || Flush(file) != SQLITE_OK || File::Of(file).gathered->refused)
    return absl::OkStatus();
  sqlite3_file* const real = File::Real(file);
  const sqlite3_io_methods& methods = File::RealMethods(file);
  sqlite3_int64 was = 0;
  int code = methods.xFileSize(real, &was);
  if (code != SQLITE_OK || was >= bytes) return absl::OkStatus();
  const std::string zeros(static_cast<std::size_t>(std::min<sqlite3_int64>(kWriteMax, bytes - was)), '\0');
  for (sqlite3_int64 at = was; code == SQLITE_OK && at < bytes;) {
    const auto piece = std::min<sqlite3_int64>(static_cast<sqlite3_int64>(zeros.size()), bytes - at);
    code = WriteReal(file, zeros.data(), static_cast<std::size_t>(piece), at);
    at += piece;
  }
  if (code == SQLITE_OK) code = methods.xSync(real, SQLITE_SYNC_NORMAL);
  if (code == SQLITE_OK) return absl::OkStatus();
  methods.xTruncate(real, was);
  return SqliteStatus(code, sqlite3_errstr(code), "reserving space for the log");
}

}  // namespace inlier
