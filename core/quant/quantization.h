// Quantization of a whole model for its evaluation, as a tap (core/nn/activation_tap.h): the interface of all schemes.
//
//   ASSIGN_OR_RETURN(auto quantization, MakeQuantization(spec, ModelSpec::kBert));
//   RETURN_IF_ERROR(quantization->Learn(loss of the model with quantization.get() on a batch));
//   for (bool again = quantization->needs_calibration(); again; again = quantization->EndRun().value()) {
//     for (batch of calibration) model->Logits(batch, quantization.get());
//   }
//   RETURN_IF_ERROR(quantization->Freeze());   // From here on nothing is estimated from calibration any more.
//   evaluate with quantization.get()
//
// A weight is rounded at its first use, and the rounded copy is used from then on, so the model's weights
// must not change while the tap is in use. A tensor passed on is new: the tap never writes to the model's
// own. Gradients are not recorded but during Learn().
//
// Thread safety: none; one model, one thread.
#ifndef INLIER_CORE_QUANT_QUANTIZATION_H_
#define INLIER_CORE_QUANT_QUANTIZATION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/nn/activation_tap.h"
#include "core/quant/quantizer.h"

namespace inlier {

// The kind of tensor that one quantizer rounds.
enum class QuantizedPart {
  kWeight,
  kActivation,  // At a quantization site of the reference scheme.
  kInput,       // Of a linear.
  kOutput,      // Of a linear.
  kKeys,        // Of an attention, as a cache keeps them.
  kValues,      // The same.
};

// How a quantizer has changed one tensor.
struct Rounding {
  at::Tensor exact;      // As it was rounded: smoothed or rotated first where the quantization does so.
  at::Tensor rounded;    // The same shape, rounded.
  at::Tensor unrounded;  // The value that the model would use if this quantizer were off.
};

// One quantizer of a model, for reports.
struct QuantizerReport {
  int order;         // Of first use, from 0.
  std::string site;  // Path of the module of the reference code.
  QuantizedPart part;
  int bits;
  bool symmetric;
  bool is_signed;
  std::vector<std::int64_t> shape;  // Of the tensor first seen.
  ValueRange range = {};            // Empty where the scheme has none.
  QuantizationGrid grid;            // Of the last tensor, where each has its own.
  // Entries of a row that share a scale of the grid, row by row; 0: a whole slice.
  std::int64_t group_size = 0;

  bool is_weight() const { return part == QuantizedPart::kWeight; }
};

// The loss of the model with the quantization as its tap, on the batch of update k from 0, with gradients recorded.
using LossOfUpdate = std::function<absl::StatusOr<at::Tensor>(std::int64_t)>;

class Quantization : public ActivationTap {
 public:
  // Before calibration, once: learns what it has to learn by gradients (RotationSpec.learned), of the model as it is rounded; calls
  // `loss_of` once an update, or never. The model's parameters get no gradients. Its errors, and InvalidArgument
  // where nothing finite is learned.
  virtual absl::Status Learn(const LossOfUpdate& loss_of) { return absl::OkStatus(); }

  // True when the model needs calibration batches before Freeze().
  virtual bool needs_calibration() const = 0;

  // After a run over the calibration batches: true when it needs another one. An error as of Freeze().
  virtual absl::StatusOr<bool> EndRun() { return false; }

  // Ends calibration. An error where the calibration batches do not allow what was asked for. Using a quantizer that needs
  // calibration and got none is a programmer's error.
  virtual absl::Status Freeze() = 0;

  // Every quantizer in use, in order of first use.
  virtual std::vector<QuantizerReport> Table() const = 0;

  // What the values of the attention at `site` are multiplied by before a cache rounds them, where it has been learned: (h, h), in
  // the dtype of `values` (…, h). Else undefined.
  virtual at::Tensor LearnedRotationOf(const std::string& site, const at::Tensor& values) { return {}; }

  // Reports how a quantizer has rounded the `tensor` of `part` at `site` that it has just replaced by `used`; nothing where
  // there is no quantizer.
  virtual std::optional<Rounding> RoundingOf(const std::string& site, QuantizedPart part,
                                             const at::Tensor& tensor, const at::Tensor& used) {
    if (used.is_same(tensor)) return std::nullopt;
    return Rounding{tensor, used, tensor};
  }
};

// InvalidArgument with the path of the field for an unsupported number of bits.
inline absl::Status CheckBits(const char* field, std::uint32_t bits) {
  if (bits >= 2 && bits <= 16) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("quantization.", field, ".bits: ", bits, " is not between 2 and 16"));
}

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_QUANTIZATION_H_
