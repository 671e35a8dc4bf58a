#include "core/quant/make_quantization.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "base/status.h"
#include "core/quant/kv_cache_quantization.h"
#include "core/quant/linear/linear_quantization.h"
#include "core/quant/post_training_quantization.h"

namespace inlier {
namespace {

absl::StatusOr<std::unique_ptr<Quantization>> MakeScheme(const v1::QuantizationSpec& spec,
                                                         v1::ModelSpec::ArchitectureCase architecture) {
  switch (spec.scheme_case()) {
    case v1::QuantizationSpec::kAbsmax:
    case v1::QuantizationSpec::kZeropoint:
      return LinearQuantization::Create(spec, architecture);
    case v1::QuantizationSpec::kReference:
    case v1::QuantizationSpec::SCHEME_NOT_SET:
      break;
  }
  return PostTrainingQuantization::Create(spec, architecture);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Quantization>> MakeQuantization(const v1::QuantizationSpec& spec,
                                                               v1::ModelSpec::ArchitectureCase architecture) {
  ASSIGN_OR_RETURN(std::unique_ptr<Quantization> scheme, MakeScheme(spec, architecture));
  if (!spec.has_kv_cache()) return scheme;
  RETURN_IF_ERROR(CheckBits("kv_cache", spec.kv_cache().bits()));
  std::optional<std::uint32_t> rotation_seed;
  if (spec.rotation().kv_cache()) rotation_seed = spec.rotation().seed();
  return std::make_unique<KvCacheQuantization>(std::move(scheme), spec.kv_cache(), rotation_seed);
}

}  // namespace inlier
