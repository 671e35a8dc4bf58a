#include "tests/coordinator/store/fault_vfs.h"

#include <atomic>
#include <cerrno>

#include "tests/coordinator/store/forwarding_file.h"

namespace inlier {
namespace {

std::atomic<bool> full = false;
std::atomic<bool> over_quota = false;
std::atomic<bool> sync_fails = false;
std::atomic<bool> read_only = false;
std::atomic<int> writes_left = 0;  // Before it is full.
std::atomic<int> writes_done = 0;
std::atomic<int> syncs_done = 0;
std::atomic<int> writes_refused = 0;

struct Nothing {};
using File = ForwardingFile<Nothing>;

int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  if (full && writes_left-- <= 0) return SQLITE_FULL;
  if (over_quota) {
    ++writes_refused;
    return SQLITE_IOERR_WRITE;
  }
  ++writes_done;
  return File::RealMethods(file).xWrite(File::Real(file), data, size, offset);
}
int FileControl(sqlite3_file* file, int op, void* argument) {
  if (over_quota && op == SQLITE_FCNTL_LAST_ERRNO) {
    *static_cast<int*>(argument) = EDQUOT;
    return SQLITE_OK;
  }
  return File::RealMethods(file).xFileControl(File::Real(file), op, argument);
}
int Sync(sqlite3_file* file, int flags) {
  if (sync_fails) return SQLITE_IOERR_FSYNC;
  ++syncs_done;
  return File::RealMethods(file).xSync(File::Real(file), flags);
}
// A full disk has the index as long as it was.
int ShmMap(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  const int code = File::RealMethods(file).xShmMap(File::Real(file), page, size, full ? 0 : extend, out);
  return code == SQLITE_OK && full && extend != 0 && *out == nullptr ? SQLITE_IOERR_SHMSIZE : code;
}

const sqlite3_io_methods& Methods() {
  static const sqlite3_io_methods methods = [] {
    sqlite3_io_methods ours = File::Methods();
    ours.xWrite = Write;
    ours.xSync = Sync;
    ours.xFileControl = FileControl;
    ours.xShmMap = ShmMap;
    return ours;
  }();
  return methods;
}

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  const bool database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
  if (read_only && database)
    flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
  file->pMethods = nullptr;
  const int code = RealVfs()->xOpen(RealVfs(), name, File::Real(file), flags, out_flags);
  if (code == SQLITE_OK) file->pMethods = &Methods();
  return code;
}

sqlite3_vfs& Ours() {
  static sqlite3_vfs vfs = [] {
    sqlite3_vfs copy = File::Vfs("inlier-fault");
    copy.xOpen = Open;
    return copy;
  }();
  return vfs;
}

}  // namespace

FaultVfs::FaultVfs() {
  full = over_quota = sync_fails = read_only = false;
  writes_done = syncs_done = writes_refused = 0;
  sqlite3_vfs_register(&Ours(), /*makeDflt=*/1);
}
FaultVfs::~FaultVfs() {
  full = over_quota = sync_fails = read_only = false;
  sqlite3_vfs_unregister(&Ours());
  sqlite3_vfs_register(RealVfs(), /*makeDflt=*/1);
}
int FaultVfs::writes() const { return writes_done; }
int FaultVfs::syncs() const { return syncs_done; }
int FaultVfs::refused() const { return writes_refused; }
void FaultVfs::SetFull(bool value, int after_writes) const {
  writes_left = after_writes;
  full = value;
}
void FaultVfs::SetOverQuota(bool value) const { over_quota = value; }
void FaultVfs::SetSyncFails(bool value) const { sync_fails = value; }
void FaultVfs::SetReadOnly(bool value) const { read_only = value; }

}  // namespace inlier
