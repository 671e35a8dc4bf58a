#include "core/train/engine.h"

#include "core/layer_cpu/matmul.h"
#include "core/layer_cuda/layer.h"
#include "core/train/regularizer.h"

namespace inlier {
namespace {

bool ProcessorHasBfloat16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") || __builtin_cpu_supports("amx-bf16");
#else
  return false;
#endif
}

// Why the fused engine cannot compute this training on a GPU; empty where it can.
std::string GpuObstacle(const v1::TrainingSpec& spec, const Model& model) {
  if (HasPenalty(spec.regularizer()))
    return "training.regularizer needs activations within the layers, which the fused engine does not keep "
           "on a GPU";
  if (const std::string obstacle = layer::gpu::Obstacle(); !obstacle.empty()) return obstacle;
  if (spec.precision() != v1::BFLOAT16) return "on a GPU the fused engine supports BFLOAT16 only";
  if (model.can_fuse(layer::Place::kGpuBfloat16)) return "";
  return "on a GPU the fused engine does not support norm_placement PERI and ENDS, residual_gain, norms "
         "other "
         "than LAYER_NORM, RMS_NORM_M and RMS_NORM_S, norm_gate, softpick, sigmoid attention, "
         "query_key_norm, key_value_bias, window, document_mask, "
         "prefix_tokens, softmaxes without kernels, scripts of gates, projected gates other than HEADWISE "
         "at CONTEXT, head sizes other than 32, 64 and 128, or a width above 8192, one of which this model "
         "has";
}

std::string CpuObstacle(const v1::TrainingSpec& spec, const Model& model, bool bfloat16) {
  if (spec.regularizer().has_kurtosis())
    return "training.regularizer.kurtosis needs the outputs of all linears, which the fused engine does not "
           "keep";
  if (!model.can_fuse(bfloat16 ? layer::Place::kCpuBfloat16 : layer::Place::kCpuFloat32))
    return "the fused engine does not support norm_placement PERI and ENDS, residual_gain, norms other "
           "than LAYER_NORM, RMS_NORM_M and RMS_NORM_S, norm_gate, key_value_bias, window, document_mask, "
           "softmaxes without "
           "kernels, scripts of gates, or odd "
           "widths with BFLOAT16, one of which this model has";
  if (bfloat16 ? layer::cpu::CanMultiply<layer::cpu::Bf16>() : layer::cpu::CanMultiply<float>()) return "";
  return "the fused engine needs a processor with AVX2";
}

}  // namespace

EngineChoice ChooseEngine(const v1::TrainingSpec& spec, const Model& model, c10::DeviceType device) {
  EngineChoice choice;
  if (device != c10::kCPU && device != c10::kCUDA) return choice;
  const bool bfloat16 = spec.precision() == v1::BFLOAT16;
  if (spec.engine() == v1::TrainingSpec::FUSED) {
    choice.reason = spec.has_low_precision()
                        ? "training.low_precision rounds what linears multiply, and the fused engine does not"
                    : device == c10::kCUDA ? GpuObstacle(spec, model)
                                           : CpuObstacle(spec, model, bfloat16);
    if (choice.reason.empty())
      choice.products = bfloat16 ? layer::Products::kBfloat16 : layer::Products::kFloat32;
  }
  if (device == c10::kCPU && bfloat16 && choice.products == layer::Products::kReference &&
      !ProcessorHasBfloat16())
    choice.warning =
        "training.precision BFLOAT16 is slower than FLOAT32 on this processor, which lacks bfloat16 products";
  return choice;
}

}  // namespace inlier
