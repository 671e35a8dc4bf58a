// INLIER_CHECK(condition): a programmer's error ends the process, in release builds too.
//
// For what the code itself must guarantee; errors of the world (input, disk, network) are an absl::Status.
#ifndef INLIER_BASE_CHECK_H_
#define INLIER_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>

#define INLIER_CHECK(condition)                                                          \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

#endif  // INLIER_BASE_CHECK_H_
