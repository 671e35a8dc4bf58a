// The bits of number formats that have their own.
#ifndef INLIER_SPEC_TRIAL_NUMBER_FORMATS_H_
#define INLIER_SPEC_TRIAL_NUMBER_FORMATS_H_

#include <cstdint>

#include "inlier/v1/quantization_spec.pb.h"
#include "inlier/v1/training_spec.pb.h"

namespace inlier {

// 8 or 4; 0 for INTEGER, which has any.
std::uint32_t BitsOf(v1::NumberFormat format);

// Entries of a row that share a scale: 32 of the MX formats, 16 of NVFP4, else 0.
std::uint32_t BlockSizeOf(v1::NumberFormat format);

// The format's bits in each part that gives none; those of INTEGER stay as they are.
void WriteFormatBits(v1::QuantizationSpec* quantization);
void WriteFormatBits(v1::LowPrecisionSpec* low_precision);

}  // namespace inlier

#endif  // INLIER_SPEC_TRIAL_NUMBER_FORMATS_H_
