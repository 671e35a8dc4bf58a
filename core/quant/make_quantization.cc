#include "core/quant/make_quantization.h"

#include "core/quant/linear_quantization.h"
#include "core/quant/post_training_quantization.h"

namespace inlier {

absl::StatusOr<std::unique_ptr<Quantization>> MakeQuantization(const v1::QuantizationSpec& spec,
                                                               v1::ModelSpec::ArchitectureCase architecture) {
  switch (spec.scheme_case()) {
    case v1::QuantizationSpec::kAbsmax:
    case v1::QuantizationSpec::kZeropoint:
      return LinearQuantization::Create(spec);
    case v1::QuantizationSpec::kReference:
    case v1::QuantizationSpec::SCHEME_NOT_SET:
      break;
  }
  return PostTrainingQuantization::Create(spec, architecture);
}

}  // namespace inlier
