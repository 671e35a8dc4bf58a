// Arguments and environments as exec and posix_spawn take them. Thread safety: pure function.
#ifndef INLIER_BASE_PROCESSES_NULL_TERMINATED_H_
#define INLIER_BASE_PROCESSES_NULL_TERMINATED_H_

#include <string>
#include <vector>

namespace inlier {

// Pointers to the texts, which must outlive them, and a null pointer after them.
inline std::vector<char*> NullTerminated(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace inlier

#endif  // INLIER_BASE_PROCESSES_NULL_TERMINATED_H_
