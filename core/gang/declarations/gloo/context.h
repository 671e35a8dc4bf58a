// The names of Gloo that LibTorch's ProcessGroupGloo.hpp needs. It includes headers of Gloo, which LibTorch does not
// ship; the classes themselves are in libtorch_cpu.so. The process group holds them by pointers, so that their layout
// does not matter here.
#ifndef INLIER_CORE_GANG_DECLARATIONS_GLOO_CONTEXT_H_
#define INLIER_CORE_GANG_DECLARATIONS_GLOO_CONTEXT_H_

#include <chrono>

namespace gloo {

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo

#endif  // INLIER_CORE_GANG_DECLARATIONS_GLOO_CONTEXT_H_
