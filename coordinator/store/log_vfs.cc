#include "coordinator/store/log_vfs.h"

#include <algorithm>
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
  Gathered* gathered;  // Owned; SQLite makes and frees the allocation around it.
};
using File = ForwardingFile<Log>;

int Flush(sqlite3_file* file) {
  Gathered& gathered = *File::Of(file).gathered;
  if (gathered.bytes.empty() || gathered.refused) return SQLITE_OK;
  const int code = File::RealMethods(file).xWrite(File::Real(file), gathered.bytes.data(),
                                                  static_cast<int>(gathered.bytes.size()), gathered.at);
  if (code == SQLITE_OK) {
    gathered.bytes.clear();
  } else {
    gathered.refused = true;
  }
  return code;
}

int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  Gathered& gathered = *File::Of(file).gathered;
  if (gathered.refused) gathered.Drop();
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
  File::Of(file).gathered = new Gathered;
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
    code = methods.xWrite(real, zeros.data(), static_cast<int>(piece), at);
    at += piece;
  }
  if (code == SQLITE_OK) code = methods.xSync(real, SQLITE_SYNC_NORMAL);
  if (code == SQLITE_OK) return absl::OkStatus();
  methods.xTruncate(real, was);
  return SqliteStatus(code, sqlite3_errstr(code), "reserving space for the log");
}

}  // namespace inlier
