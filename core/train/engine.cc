#include "core/train/engine.h"

#include "core/layer_cpu/matmul.h"
#include "core/layer_cuda/layer.h"
#include "core/train/regularizer.h"

namespace inlier {
namespace {

constexpr char kNeedsLinears[] =
    "training.regularizer.kurtosis is a function of the outputs of all linears, which the fused engine does "
    "not keep";
constexpr char kNeedsActivations[] =
    "training.regularizer is a function of activations within the layers, which the fused engine does not "
    "keep on a GPU";

bool ProcessorHasBfloat16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") || __builtin_cpu_supports("amx-bf16");
#else
  return false;
#endif
}

EngineChoice ChooseOnGpu(const v1::TrainingSpec& spec, const Model& model) {
  EngineChoice choice;
  if (spec.engine() != v1::TrainingSpec::FUSED) return choice;
  if (HasPenalty(spec.regularizer())) {
    choice.reason = kNeedsActivations;
    return choice;
  }
  choice.reason = layer::gpu::Obstacle();
  if (!choice.reason.empty()) return choice;
  if (spec.precision() != v1::BFLOAT16) {
    choice.reason = "on a GPU the fused engine has products of BFLOAT16 alone";
  } else if (!model.can_fuse(layer::Place::kGpuBfloat16)) {
    choice.reason =
        "the fused engine has not every part of this model on a GPU (softpick, sigmoid attention, "
        "query_key_norm, key_value_bias, prefix_tokens, a projected gate that is not HEADWISE at CONTEXT, "
        "heads of another "
        "size than 32, 64 or 128, or a width above 8192)";
  } else {
    choice.products = layer::Products::kBfloat16;
  }
  return choice;
}

}  // namespace

EngineChoice ChooseEngine(const v1::TrainingSpec& spec, const Model& model, c10::DeviceType device) {
  EngineChoice choice;
  if (device == c10::kCUDA) return ChooseOnGpu(spec, model);
  if (device != c10::kCPU) return choice;
  const bool bfloat16 = spec.precision() == v1::BFLOAT16;
  if (bfloat16 && !ProcessorHasBfloat16()) {
    choice.warning =
        "training.precision BFLOAT16: this processor has no bfloat16 products, so they are slower than "
        "FLOAT32 here";
  }
  if (spec.engine() != v1::TrainingSpec::FUSED) return choice;
  if (spec.regularizer().has_kurtosis()) {
    choice.reason = kNeedsLinears;
  } else if (!model.can_fuse(bfloat16 ? layer::Place::kCpuBfloat16 : layer::Place::kCpuFloat32)) {
    choice.reason =
        "the fused engine has not every part of this model (key_value_bias, or odd widths with BFLOAT16)";
  } else if (!(bfloat16 ? layer::cpu::CanMultiply<layer::cpu::Bf16>() : layer::cpu::CanMultiply<float>())) {
    choice.reason = "the fused engine needs a processor with AVX2, for BFLOAT16 with AVX-512";
  } else {
    choice.products = bfloat16 ? layer::Products::kBfloat16 : layer::Products::kFloat32;
  }
  return choice;
}

}  // namespace inlier
