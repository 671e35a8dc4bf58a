#include "spec/trial/number_formats.h"

namespace inlier {
namespace {

struct FormatRow {
  v1::NumberFormat format;
  std::uint32_t bits;
  std::uint32_t block;
};

constexpr FormatRow kFormats[] = {
    {v1::INTEGER, 0, 0}, {v1::FP8_E4M3, 8, 0},    {v1::FP8_E5M2, 8, 0},    {v1::MXFP4, 4, 32},
    {v1::NVFP4, 4, 16},  {v1::MXFP8_E4M3, 8, 32}, {v1::MXFP8_E5M2, 8, 32}, {v1::MXINT8, 8, 32},
};

const FormatRow& RowOf(v1::NumberFormat format) {
  for (const FormatRow& row : kFormats) {
    if (row.format == format) return row;
  }
  return kFormats[0];
}

template <typename Part>
void WriteBits(Part* part) {
  if (part->format() != v1::INTEGER && !part->has_bits()) part->set_bits(BitsOf(part->format()));
}

}  // namespace

std::uint32_t BitsOf(v1::NumberFormat format) { return RowOf(format).bits; }

std::uint32_t BlockSizeOf(v1::NumberFormat format) { return RowOf(format).block; }

void WriteFormatBits(v1::QuantizationSpec* quantization) {
  if (quantization->has_weights()) WriteBits(quantization->mutable_weights());
  if (quantization->has_activations()) WriteBits(quantization->mutable_activations());
}

void WriteFormatBits(v1::LowPrecisionSpec* low_precision) {
  if (low_precision->has_weights()) WriteBits(low_precision->mutable_weights());
  if (low_precision->has_activations()) WriteBits(low_precision->mutable_activations());
  if (low_precision->has_gradients()) WriteBits(low_precision->mutable_gradients());
}

}  // namespace inlier
