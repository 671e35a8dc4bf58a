// A file of a SQLite VFS that hands every call to the real file, which follows it in the same allocation.
// A VFS of the tests takes Methods() and replaces the functions in which it differs.
//
// Thread safety: that of the real file.
#ifndef INLIER_TESTS_COORDINATOR_STORE_FORWARDING_FILE_H_
#define INLIER_TESTS_COORDINATOR_STORE_FORWARDING_FILE_H_

#include <sqlite3.h>

namespace inlier {

// The VFS of SQLite itself.
inline sqlite3_vfs* RealVfs() {
  static sqlite3_vfs* const real = sqlite3_vfs_find("unix");
  return real;
}

// `Members`: the data that the VFS keeps of each file; plain data, for SQLite makes the allocation.
template <typename Members>
struct ForwardingFile {
  sqlite3_file base;
  Members members;

  static Members& Of(sqlite3_file* file) { return reinterpret_cast<ForwardingFile*>(file)->members; }
  static sqlite3_file* Real(sqlite3_file* file) {
    return reinterpret_cast<sqlite3_file*>(reinterpret_cast<ForwardingFile*>(file) + 1);
  }
  static const sqlite3_io_methods& RealMethods(sqlite3_file* file) { return *Real(file)->pMethods; }

  static sqlite3_io_methods Methods() {
    sqlite3_io_methods methods{};
    methods.iVersion = 2;
    methods.xClose = [](sqlite3_file* file) { return RealMethods(file).xClose(Real(file)); };
    methods.xRead = [](sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
      return RealMethods(file).xRead(Real(file), data, size, offset);
    };
    methods.xWrite = [](sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
      return RealMethods(file).xWrite(Real(file), data, size, offset);
    };
    methods.xTruncate = [](sqlite3_file* file, sqlite3_int64 size) {
      return RealMethods(file).xTruncate(Real(file), size);
    };
    methods.xSync = [](sqlite3_file* file, int flags) { return RealMethods(file).xSync(Real(file), flags); };
    methods.xFileSize = [](sqlite3_file* file, sqlite3_int64* size) {
      return RealMethods(file).xFileSize(Real(file), size);
    };
    methods.xLock = [](sqlite3_file* file, int level) { return RealMethods(file).xLock(Real(file), level); };
    methods.xUnlock = [](sqlite3_file* file, int level) {
      return RealMethods(file).xUnlock(Real(file), level);
    };
    methods.xCheckReservedLock = [](sqlite3_file* file, int* result) {
      return RealMethods(file).xCheckReservedLock(Real(file), result);
    };
    methods.xFileControl = [](sqlite3_file* file, int op, void* argument) {
      return RealMethods(file).xFileControl(Real(file), op, argument);
    };
    methods.xSectorSize = [](sqlite3_file* file) { return RealMethods(file).xSectorSize(Real(file)); };
    methods.xDeviceCharacteristics = [](sqlite3_file* file) {
      return RealMethods(file).xDeviceCharacteristics(Real(file));
    };
    methods.xShmMap = [](sqlite3_file* file, int page, int size, int extend, void volatile** out) {
      return RealMethods(file).xShmMap(Real(file), page, size, extend, out);
    };
    methods.xShmLock = [](sqlite3_file* file, int offset, int n, int flags) {
      return RealMethods(file).xShmLock(Real(file), offset, n, flags);
    };
    methods.xShmBarrier = [](sqlite3_file* file) { RealMethods(file).xShmBarrier(Real(file)); };
    methods.xShmUnmap = [](sqlite3_file* file, int remove) {
      return RealMethods(file).xShmUnmap(Real(file), remove);
    };
    return methods;
  }

  // The real VFS under another name, with room for both files.
  static sqlite3_vfs Vfs(const char* name) {
    sqlite3_vfs vfs = *RealVfs();
    vfs.zName = name;
    vfs.szOsFile = static_cast<int>(sizeof(ForwardingFile)) + RealVfs()->szOsFile;
    vfs.pNext = nullptr;
    return vfs;
  }
};

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_STORE_FORWARDING_FILE_H_
