// A disk that fails on request: SQLite's default VFS with a switch before each write, fsync and open.
//
// While an object lives, databases opened in this process use it. They must be closed before it is destroyed.
#ifndef INLIER_TESTS_COORDINATOR_STORE_FAULT_VFS_H_
#define INLIER_TESTS_COORDINATOR_STORE_FAULT_VFS_H_

namespace inlier {

class FaultVfs {
 public:
  FaultVfs();
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  // Every write finds no space, after so many that still do; the log's index never grows.
  void SetFull(bool full, int after_writes = 0) const;
  // The same, as a quota makes it: an I/O error, whose errno the file returns. The index grows.
  void SetOverQuota(bool over) const;
  // Every fsync fails.
  void SetSyncFails(bool fails) const;
  // Files open for reading only, as a file without write permission does.
  void SetReadOnly(bool read_only) const;

  // That reached a file since the object was made.
  int writes() const;
  int syncs() const;
  // Writes that the quota refused since then.
  int refused() const;
};

}  // namespace inlier

#endif  // INLIER_TESTS_COORDINATOR_STORE_FAULT_VFS_H_
