// Memory that the allocator keeps for later.
#ifndef INLIER_BASE_MEMORY_H_
#define INLIER_BASE_MEMORY_H_

namespace inlier {

// Gives what is free back to the system, from every thread's part: jemalloc does it by itself only where
// threads go on allocating, and keeps what a start needed for good. Takes milliseconds for 100 MiB. Any
// thread.
void ReturnFreeMemory();

}  // namespace inlier

#endif  // INLIER_BASE_MEMORY_H_
