// Which threads ask oneMKL for the kind of processor: with SetUpRuntime only the one that sets up the process. The library's
// answer to a second thread that asks at the same time is wrong (core/kernels/math_library.h).
//
// A program of its own: other programs of core have asked before their tests begin.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>

#include "core/trial/runtime.h"

namespace {
std::atomic<int> asked = 0;
}  // namespace

// In place of oneMKL's own function, which LibTorch calls by this name.
extern "C" int mkl_serv_vml_cpu_detect() {
  ++asked;
  static const auto own = reinterpret_cast<int (*)()>(::dlsym(RTLD_NEXT, "mkl_serv_vml_cpu_detect"));
  return own();
}

namespace inlier {
namespace {

TEST(MathLibraryTest, KnowsTheProcessorBeforeThreadsCompute) {
  SetUpRuntime(2);
  const int before = asked;
  const at::Tensor x = at::linspace(-8, -0.1, 1 << 14, at::kDouble);
  const at::Tensor first = at::exp(x);
  EXPECT_EQ(asked, before) << "the first call with threads asked";
  EXPECT_TRUE(at::equal(first, at::exp(x)));
  if (before == 0) GTEST_SKIP() << "this LibTorch has another math library";
}

}  // namespace
}  // namespace inlier
