#include "base/memory.h"

#include <malloc.h>

#include <cstddef>

// jemalloc's, where it is linked.
extern "C" int mallctl(const char* name, void* old_value, std::size_t* old_size, void* new_value,
                       std::size_t new_size) __attribute__((weak));

namespace inlier {

void ReturnFreeMemory() {
  if (mallctl == nullptr) {
    malloc_trim(0);
  } else {
    mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);  // 4096: MALLCTL_ARENAS_ALL.
  }
}

}  // namespace inlier
