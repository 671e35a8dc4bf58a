// Memory for records that are many, are kept for ever, and are hardly read again.
//
// A part of it is *cooled* when it is not expected to change: its bytes go to a scratch file, and the part
// becomes a private mapping of them. It stays where it is and is read and written as before: the system
// brings pages in as they are touched and drops them when it needs room, and what is written later is plain
// memory again until the part is cooled once more. So what has ended costs the disk, not memory, and nobody
// who uses it knows.
//
// Cooling takes three steps, so that nobody waits for the disk: Write, Sync, then Map of what has not been
// written to since. The file has no name and ends with the process: nothing is ever recovered from it, so a
// crash has nothing to say. Without a file, without space, or where the system cannot, memory stays memory. A
// disk that fails to bring a page back ends the process (SIGBUS).
//
// Why, and what it gains: docs/decisions/0015-cold-memory.md.
//
// Thread safety: Sync and Drop from any thread, also beside the others; the others from one at a time.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_COLD_MEMORY_H_
#define INLIER_COORDINATOR_ORCHESTRATION_COLD_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>

#include "absl/status/status.h"

namespace inlier {

class ColdMemory {
 public:
  ColdMemory() = default;
  ColdMemory(const ColdMemory&) = delete;
  ColdMemory& operator=(const ColdMemory&) = delete;
  ~ColdMemory();

  // From now on parts can be cooled. Errors: what the folder's file system says.
  absl::Status UseFileIn(const std::filesystem::path& folder);
  bool has_file() const { return file_ >= 0; }

  // Zeroed bytes, from the start of a page on; they cost nothing before they are touched, and live as long as
  // this does. Throws std::bad_alloc.
  char* Reserve(std::size_t bytes);

  // All of Write and Map: whole pages within one reservation; others are refused.
  // Copies the part to the file. False: it was not possible.
  bool Write(const char* part, std::size_t bytes);
  // Waits until all that was written is on the disk.
  absl::Status Sync() const;
  // Gives the part's memory up. REQUIRES: its bytes are those of the last Write, and a Sync after that was
  // OK. False: it was not possible, and the part is as it was.
  bool Map(char* part, std::size_t bytes);

  // Pages of cooled parts that were touched since go again.
  void Drop() const;

  // In the file; what was changed since counts too.
  std::size_t cooled_bytes() const;

 private:
  struct Reservation {
    std::size_t bytes = 0;
    std::size_t offset = 0;  // Of its part of the file.
  };
  // Where the part is in the file; false: it is not one.
  bool Locate(const char* part, std::size_t bytes, std::size_t& offset) const;
  void NoteCooled(char* begin, char* end);

  int file_ = -1;
  std::size_t file_bytes_ = 0;  // Offsets given out.
  std::map<const char*, Reservation> reservations_;
  mutable std::mutex mutex_;       // Of what follows.
  std::map<char*, char*> cooled_;  // Begin -> end, neighbours joined.
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_COLD_MEMORY_H_
