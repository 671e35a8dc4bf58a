#include "spec/trial/number_formats.h"

namespace inlier {
namespace {

template <typename Part>
void WriteBits(Part* part) {
  if (part->format() != v1::INTEGER && !part->has_bits()) part->set_bits(BitsOf(part->format()));
}

}  // namespace

std::uint32_t BitsOf(v1::NumberFormat format) {
  switch (format) {
    case v1::INTEGER:
      return 0;
    case v1::FP8_E4M3:
    case v1::FP8_E5M2:
      return 8;
    case v1::MXFP4:
    case v1::NVFP4:
      return 4;
  }
  return 0;
}

std::uint32_t BlockSizeOf(v1::NumberFormat format) {
  return format == v1::MXFP4 ? 32 : format == v1::NVFP4 ? 16 : 0;
}

void WriteFormatBits(v1::QuantizationSpec* quantization) {
  if (quantization->has_weights()) WriteBits(quantization->mutable_weights());
  if (quantization->has_activations()) WriteBits(quantization->mutable_activations());
}

}  // namespace inlier
