#include "core/trial/runtime.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <malloc.h>
#include <sched.h>
#include <torch/headeronly/version.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "core/kernels/math_library.h"

namespace inlier {
namespace {

void BindTo(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  if (CPU_COUNT(&set) > 0) ::sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace

void SetUpRuntime(int threads, const std::vector<int>& cpus) {
  INLIER_CHECK(threads >= 1);
  BindTo(cpus);
  // Blocks up to the largest threshold glibc allows come from the heap, and the heap is never trimmed.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 2047 << 20);
  mallopt(M_TOP_PAD, 64 << 20);
  // Before the first parallel region, whose threads inherit the floating-point state of this one.
  at::globalContext().setFlushDenormal(true);
  SettleMathLibrary();
  at::set_num_threads(threads);
  at::set_num_interop_threads(1);
  at::globalContext().setDeterministicAlgorithms(/*on=*/true, /*warn_only=*/true);
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}

absl::StatusOr<c10::Device> ParseDevice(const std::string& text) {
  if (text == "cpu") return c10::Device(c10::kCPU);
  int index = 0;
  const bool is_cuda = text == "cuda" || (text.rfind("cuda:", 0) == 0 &&
                                          absl::SimpleAtoi(text.substr(5), &index) && index >= 0);
  if (!is_cuda) {
    return absl::InvalidArgumentError(
        absl::StrCat("device: unsupported device \"", text, "\"; use \"cpu\", \"cuda\" or \"cuda:<index>\""));
  }
  const int devices = at::hasCUDA() ? at::detail::getCUDAHooks().getNumGPUs() : 0;
  if (index >= devices) {
    return absl::UnavailableError(absl::StrCat(
        "device: \"", text, "\" is not there: ",
        at::globalContext().hasCUDA()
            ? absl::StrCat(devices, " GPU(s) can be seen (see nvidia-smi and CUDA_VISIBLE_DEVICES)")
            : std::string("this LibTorch was built without CUDA or no driver was found"),
        "; use \"cpu\""));
  }
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(index));
}

std::uint64_t PeakGpuMemoryMib() {
  if (!at::hasCUDA()) return 0;
  try {
    auto* allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(c10::kCUDA));
    if (allocator == nullptr || !allocator->initialized()) return 0;
    const auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    const std::int64_t peak = allocator->getDeviceStats(0).reserved_bytes[all].peak;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(peak, 0)) >> 20;
  } catch (const c10::Error&) {
    return 0;  // A failing device reports nothing.
  }
}

std::string DeviceName(c10::Device device) {
  if (!device.is_cuda()) return "cpu";
  // LibTorch's own headers for this need the CUDA toolkit; the driver is loaded already.
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return device.str();
  using Init = int (*)(unsigned);
  using Get = int (*)(int*, int);
  using Name = int (*)(char*, int, int);
  const auto init = reinterpret_cast<Init>(::dlsym(driver, "cuInit"));
  const auto get = reinterpret_cast<Get>(::dlsym(driver, "cuDeviceGet"));
  const auto name = reinterpret_cast<Name>(::dlsym(driver, "cuDeviceGetName"));
  int handle = 0;
  char text[256] = "";
  if (init == nullptr || get == nullptr || name == nullptr || init(0) != 0 ||
      get(&handle, device.index()) != 0 || name(text, sizeof(text), handle) != 0) {
    return device.str();
  }
  return text;
}

std::string TorchVersion() {
  return absl::StrCat(TORCH_VERSION_MAJOR, ".", TORCH_VERSION_MINOR, ".", TORCH_VERSION_PATCH);
}

std::string CudaVersion() {
  if (!at::hasCUDA()) return "";
  const long version = at::detail::getCUDAHooks().versionCUDART();  // 12080 is 12.8.
  return absl::StrCat(version / 1000, ".", version % 1000 / 10);
}

}  // namespace inlier
