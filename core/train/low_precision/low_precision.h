// The linears of a training with rounded operands (training.low_precision): those within the layers, from their first
// float layers to their last ones. Embeddings, norms, gates, attention products and the head stay float, and so does every
// evaluation, which reads the master weights.
//
// Draws and signs are functions of (seed of the pass, linear, operand), and the seed of a pass is one of (trial's seed,
// micro-batch), so that a resumed training has the same bits.
//
// Thread safety: none; one training.
#ifndef INLIER_CORE_TRAIN_LOW_PRECISION_LOW_PRECISION_H_
#define INLIER_CORE_TRAIN_LOW_PRECISION_LOW_PRECISION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/models/model.h"
#include "core/nn/linear_arithmetic.h"
#include "core/optim/parameter_groups.h"
#include "core/train/low_precision/learned_scale.h"
#include "core/train/low_precision/rounded_linear.h"
#include "inlier/v1/training_spec.pb.h"

namespace inlier {

class LowPrecision : public LinearArithmetic {
 public:
  // `spec` is resolved and valid. Learned scales begin with the weights that `model` has now.
  LowPrecision(const v1::LowPrecisionSpec& spec, const Model& model);

  // Before each pass: the seed of its draws.
  void BeginPass(std::uint64_t seed) { seed_ = seed; }

  at::Tensor Product(const std::string& name, const at::Tensor& x, const at::Tensor& weight,
                     const at::Tensor& bias) override;

  // "<linear>.weight.log_scale" and "<linear>.input.log_scale"; empty without learned scales.
  std::vector<NamedParameter> Scales() const { return scales_.Parameters(); }

 private:
  bool IsRounded(const std::string& name) const;
  void AddScales(const std::vector<NamedParameter>& parameters);
  at::Tensor WithLearnedScales(const std::string& name, const at::Tensor& x, const at::Tensor& weight,
                               const at::Tensor& bias);

  const LinearRounding rounding_;
  const std::int64_t hadamard_size_;  // 0: none.
  const bool learns_scales_;
  const std::int64_t first_layer_;
  std::int64_t end_layer_ = 0;
  LearnedScales scales_;
  std::uint64_t seed_ = 0;
};

// Null where `training` has none.
std::unique_ptr<LowPrecision> MakeLowPrecision(const v1::TrainingSpec& training, const Model& model);

}  // namespace inlier

#endif  // INLIER_CORE_TRAIN_LOW_PRECISION_LOW_PRECISION_H_
