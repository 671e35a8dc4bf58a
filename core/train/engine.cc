#include "core/train/engine.h"

#include "core/fused/matmul.h"

namespace inlier {
namespace {

bool ProcessorHasBfloat16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") || __builtin_cpu_supports("amx-bf16");
#else
  return false;
#endif
}

}  // namespace

EngineChoice ChooseEngine(const v1::TrainingSpec& spec, const Model& model, c10::DeviceType device) {
  EngineChoice choice;
  if (device != c10::kCPU) return choice;
  const bool bfloat16 = spec.precision() == v1::BFLOAT16;
  if (bfloat16 && !ProcessorHasBfloat16()) {
    choice.warning =
        "training.precision BFLOAT16: this processor has no bfloat16 products, so they are slower than "
        "FLOAT32 here";
  }
  if (spec.engine() != v1::TrainingSpec::FUSED) return choice;
  if (!model.can_fuse(/*even=*/bfloat16)) {
    choice.reason =
        "the fused engine has not every part of this model (softpick, sigmoid attention, or odd widths "
        "with BFLOAT16)";
  } else if (!(bfloat16 ? fused::CanMultiply<fused::Bf16>() : fused::CanMultiply<float>())) {
    choice.reason = "the fused engine needs a processor with AVX2, for BFLOAT16 with AVX-512";
  } else {
    choice.products = bfloat16 ? fused::Products::kBfloat16 : fused::Products::kFloat32;
  }
  return choice;
}

}  // namespace inlier
