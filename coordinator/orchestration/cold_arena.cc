#include "coordinator/orchestration/cold_arena.h"

#include <algorithm>

namespace inlier {

char* ColdArena::Add(std::size_t bytes) {
  if (used_ + bytes > block_bytes_) {
    NoteFull(/*leave=*/true);
    block_bytes_ = std::max(kBlock, (bytes + kPart - 1) / kPart * kPart);
    block_ = memory_.Reserve(block_bytes_);
    used_ = noted_ = 0;
  }
  char* const begin = block_ + used_;
  used_ += bytes;
  return begin;
}

void ColdArena::NoteFull(bool leave) {
  const std::size_t end = (used_ + (leave ? kPart - 1 : 0)) / kPart * kPart;
  for (; noted_ < end; noted_ += kPart) full_.push_back({block_ + noted_, kPart});
}

std::size_t ColdArena::WriteCold(std::size_t parts_max) {
  NoteFull(/*leave=*/false);
  std::size_t written = 0;
  while (written < parts_max && !full_.empty()) {
    if (!memory_.Write(full_.back().begin, full_.back().bytes)) break;  // Another time.
    written_.push_back(full_.back());
    full_.pop_back();
    ++written;
  }
  return written;
}

void ColdArena::MapCold() {
  for (const Part& part : written_) {
    if (!memory_.Map(part.begin, part.bytes)) full_.push_back(part);
  }
  written_.clear();
}

}  // namespace inlier
