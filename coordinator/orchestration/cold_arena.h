// Bytes that are written once, kept for as long as the arena, and cooled (cold_memory.h) 64 KiB at a time as
// soon as those are full.
//
// Thread safety: none.
#ifndef INLIER_COORDINATOR_ORCHESTRATION_COLD_ARENA_H_
#define INLIER_COORDINATOR_ORCHESTRATION_COLD_ARENA_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "coordinator/orchestration/cold_memory.h"

namespace inlier {

class ColdArena {
 public:
  // `memory` outlives the arena.
  explicit ColdArena(ColdMemory& memory) : memory_(memory) {}

  // To be filled before anything is cooled. Throws std::bad_alloc.
  char* Add(std::size_t bytes);

  // As a DenseTable's: writes up to `parts_max` parts that are full.
  std::size_t WriteCold(std::size_t parts_max);
  void MapCold();

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 20;
  static constexpr std::size_t kPart = std::size_t{64} << 10;

  struct Part {
    char* begin = nullptr;
    std::size_t bytes = 0;
  };
  // What is full of the present block waits to be written; the rest of it too when it is left.
  void NoteFull(bool leave);

  ColdMemory& memory_;
  char* block_ = nullptr;
  std::size_t block_bytes_ = 0, used_ = 0;
  std::size_t noted_ = 0;  // Bytes of the block that wait to be written, or have been.
  std::vector<Part> full_, written_;
};

}  // namespace inlier

#endif  // INLIER_COORDINATOR_ORCHESTRATION_COLD_ARENA_H_
