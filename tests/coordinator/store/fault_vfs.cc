#include "tests/coordinator/store/fault_vfs.h"

#include <sqlite3.h>

#include <atomic>

namespace inlier {
namespace {

std::atomic<bool> full = false;
std::atomic<bool> sync_fails = false;
std::atomic<bool> read_only = false;

sqlite3_vfs* Real() {
  static sqlite3_vfs* const real = sqlite3_vfs_find("unix");
  return real;
}

// Ours comes first; the real file follows in the same allocation.
struct FaultFile {
  sqlite3_file base;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
FaultFile* File(sqlite3_file* file) { return reinterpret_cast<FaultFile*>(file); }
sqlite3_file* RealFile(sqlite3_file* file) { return File(file)->real(); }

int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  if (full) return SQLITE_FULL;
  return RealFile(file)->pMethods->xWrite(RealFile(file), data, size, offset);
}
int Sync(sqlite3_file* file, int flags) {
  if (sync_fails) return SQLITE_IOERR_FSYNC;
  return RealFile(file)->pMethods->xSync(RealFile(file), flags);
}
int Close(sqlite3_file* file) { return RealFile(file)->pMethods->xClose(RealFile(file)); }
int Read(sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
  return RealFile(file)->pMethods->xRead(RealFile(file), data, size, offset);
}
int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  return RealFile(file)->pMethods->xTruncate(RealFile(file), size);
}
int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  return RealFile(file)->pMethods->xFileSize(RealFile(file), size);
}
int Lock(sqlite3_file* file, int level) { return RealFile(file)->pMethods->xLock(RealFile(file), level); }
int Unlock(sqlite3_file* file, int level) { return RealFile(file)->pMethods->xUnlock(RealFile(file), level); }
int CheckReservedLock(sqlite3_file* file, int* result) {
  return RealFile(file)->pMethods->xCheckReservedLock(RealFile(file), result);
}
int FileControl(sqlite3_file* file, int op, void* argument) {
  return RealFile(file)->pMethods->xFileControl(RealFile(file), op, argument);
}
int SectorSize(sqlite3_file* file) { return RealFile(file)->pMethods->xSectorSize(RealFile(file)); }
int DeviceCharacteristics(sqlite3_file* file) {
  return RealFile(file)->pMethods->xDeviceCharacteristics(RealFile(file));
}
int ShmMap(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  return RealFile(file)->pMethods->xShmMap(RealFile(file), page, size, extend, out);
}
int ShmLock(sqlite3_file* file, int offset, int n, int flags) {
  return RealFile(file)->pMethods->xShmLock(RealFile(file), offset, n, flags);
}
void ShmBarrier(sqlite3_file* file) { RealFile(file)->pMethods->xShmBarrier(RealFile(file)); }
int ShmUnmap(sqlite3_file* file, int remove) {
  return RealFile(file)->pMethods->xShmUnmap(RealFile(file), remove);
}

const sqlite3_io_methods kMethods = {2,
                                     Close,
                                     Read,
                                     Write,
                                     Truncate,
                                     Sync,
                                     FileSize,
                                     Lock,
                                     Unlock,
                                     CheckReservedLock,
                                     FileControl,
                                     SectorSize,
                                     DeviceCharacteristics,
                                     ShmMap,
                                     ShmLock,
                                     ShmBarrier,
                                     ShmUnmap,
                                     nullptr,
                                     nullptr};

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  const bool database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
  if (read_only && database)
    flags = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
  file->pMethods = nullptr;
  const int code = Real()->xOpen(Real(), name, RealFile(file), flags, out_flags);
  if (code == SQLITE_OK) file->pMethods = &kMethods;
  return code;
}

sqlite3_vfs& Ours() {
  static sqlite3_vfs vfs = [] {
    sqlite3_vfs copy = *Real();
    copy.zName = "inlier-fault";
    copy.szOsFile = static_cast<int>(sizeof(FaultFile)) + Real()->szOsFile;
    copy.xOpen = Open;
    copy.pNext = nullptr;
    return copy;
  }();
  return vfs;
}

}  // namespace

FaultVfs::FaultVfs() {
  full = sync_fails = read_only = false;
  sqlite3_vfs_register(&Ours(), /*makeDflt=*/1);
}
FaultVfs::~FaultVfs() {
  full = sync_fails = read_only = false;
  sqlite3_vfs_unregister(&Ours());
  sqlite3_vfs_register(Real(), /*makeDflt=*/1);
}
void FaultVfs::SetFull(bool value) const { full = value; }
void FaultVfs::SetSyncFails(bool value) const { sync_fails = value; }
void FaultVfs::SetReadOnly(bool value) const { read_only = value; }

}  // namespace inlier
