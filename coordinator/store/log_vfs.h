// How the writing connection's log reaches the disk: SQLite writes a header and a page for each frame; here
// what lies side by side is gathered and written at once, when it is synced or read.
//
// Each commit is then one write and one fdatasync. Readers open the log by themselves and look at a frame
// only when the index says that it is there, which a commit with synchronous=FULL says after the sync.
//
// A write that fails (no space or no quota, in the log or in its index) is an error of the call that needed
// it, as SQLite's own would be: the transaction is rolled back, which the caller must see to, and what was
// gathered of it never reaches the file.
//
// Thread safety: any thread; a file of it, that of its connection.
#ifndef INLIER_COORDINATOR_STORE_LOG_VFS_H_
#define INLIER_COORDINATOR_STORE_LOG_VFS_H_

#include <sqlite3.h>

#include <cstdint>

#include "absl/status/status.h"

namespace inlier {

// Of each frame (a page) of the log: sqlite.org/walformat.html, section 1.2.
inline constexpr int kWalFrameHeaderBytes = 24;

// The name under which SQLite knows it, for opening a database. Everything but the log goes to the VFS that
// is the default at the time.
const char* LogVfs();

// Makes the log of `connection` at least `bytes` long, with zeros after what it holds: writing over what is
// there is a third cheaper to sync than growing. REQUIRES: no transaction is open.
// Errors: of SQLite, with the log as long as it was.
absl::Status ReserveLog(sqlite3* connection, std::int64_t bytes);

// Whether the latest write to the file that failed did so because of a quota: SQLite calls that an I/O error.
bool OverQuota(sqlite3_file* file);

// How long that file is.
std::int64_t LogFileBytes(sqlite3* connection);

}  // namespace inlier

#endif  // INLIER_COORDINATOR_STORE_LOG_VFS_H_
