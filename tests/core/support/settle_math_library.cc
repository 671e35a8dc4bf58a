// Part of every test program of core, as inlier-trial does it in SetUpRuntime: golden numbers are compared to 1e-15.
#include "core/kernels/math_library.h"

namespace {
[[maybe_unused]] const bool kSettled = (inlier::SettleMathLibrary(), true);
}  // namespace
