// Keys and values rounded as a cache would keep them, on top of any scheme (KvCacheSpec). Keys are rounded after their norm and
// rotation. Nothing is rounded before Freeze() but during Learn(): ranges of the scheme are calibrated with float keys and values.
//
// Ashkboos et al. 2024, section 4: asymmetric integers, one range for each token and head over the features of the head:
// zeropoint of slice_grid.h. A head whose features are all equal stays as it is. The query's own key and value are rounded too,
// as if they were read from the cache.
//
// With RotationSpec.kv_cache, R an orthogonal matrix of a head's width (linear_rotation.h), x R is what is rounded of a key or
// value x, and the result times R^T is used: the paper's queries q R see the keys k R, (q R)(k R)^T = q k^T, and its output
// projection reads R^T W. With a learned rotation R of values is the R2 of their layer, which its context has too; that of keys and
// queries stays random, the paper's R3.
//
// Liu et al. 2024 (KIVI), section 3 and algorithm 1, in groups of G, with R tokens that stay float:
//
//   s = (max - min) / (2^b - 1),  x' = s round((x - min) / s) + min;  a group without extent stays as it is
//   keys:    a group is one feature of G tokens; query t (from 0) sees tokens from R floor(t / R) on in float
//   values:  a group is G features of a head of one token; query t sees tokens from t - R on in float
//
// so that each query sees what a cache has kept that was filled token after token from the first. (The authors' code sees a
// prompt's own tokens in float, and rounds them for what is generated.) Padding counts as tokens.
#ifndef INLIER_CORE_QUANT_KV_CACHE_QUANTIZATION_H_
#define INLIER_CORE_QUANT_KV_CACHE_QUANTIZATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/quant/quantization.h"
#include "core/quant/slice_grid.h"
#include "inlier/v1/quantization_spec.pb.h"

namespace inlier {

class KvCacheQuantization : public Quantization {
 public:
  // `scheme` rounds all other tensors. `rotation_seed`: keys and values are rotated. REQUIRES: 2 <= bits <= 16; KIVI's
  // group_size divides a head's width and its residual.
  KvCacheQuantization(std::unique_ptr<Quantization> scheme, const v1::KvCacheSpec& spec,
                      std::optional<std::uint32_t> rotation_seed)
      : scheme_(std::move(scheme)), spec_(spec), rotation_seed_(rotation_seed) {}

  void OnPass(const at::Tensor& attention_mask) override { scheme_->OnPass(attention_mask); }
  void OnNormOffset(const std::string& site, const at::Tensor& offset) override {
    scheme_->OnNormOffset(site, offset);
  }
  at::Tensor OnWeight(const std::string& site, const at::Tensor& weight) override {
    return scheme_->OnWeight(site, weight);
  }
  at::Tensor OnActivation(const std::string& site, const at::Tensor& activation) override {
    return scheme_->OnActivation(site, activation);
  }
  at::Tensor OnLinearInput(const std::string& site, const at::Tensor& input) override {
    return scheme_->OnLinearInput(site, input);
  }
  at::Tensor OnLinearWeight(const std::string& site, const at::Tensor& weight) override {
    return scheme_->OnLinearWeight(site, weight);
  }
  at::Tensor OnLinearOutput(const std::string& site, const at::Tensor& output) override {
    return scheme_->OnLinearOutput(site, output);
  }
  at::Tensor OnKeys(const std::string& site, const at::Tensor& keys) override {
    return Round(site, QuantizedPart::kKeys, keys);
  }
  at::Tensor OnValues(const std::string& site, const at::Tensor& values) override {
    return Round(site, QuantizedPart::kValues, scheme_->OnValues(site, values));
  }
  CacheWindow WindowOf(std::int64_t tokens) override;

  absl::Status Learn(const LossOfUpdate& loss_of) override;
  bool needs_calibration() const override { return scheme_->needs_calibration(); }
  absl::StatusOr<bool> EndRun() override { return scheme_->EndRun(); }
  absl::Status Freeze() override;
  // The scheme's, then keys and values in order of first use.
  std::vector<QuantizerReport> Table() const override;
  std::optional<Rounding> RoundingOf(const std::string& site, QuantizedPart part, const at::Tensor& tensor,
                                     const at::Tensor& used) override;
  at::Tensor LearnedRotationOf(const std::string& site, const at::Tensor& values) override {
    return scheme_->LearnedRotationOf(site, values);
  }

 private:
  struct Entry {
    std::string site;
    QuantizedPart part;
    std::vector<std::int64_t> shape;
    SliceGrid grid;  // Of the last tensor. KIVI's zero point is -min / s, not rounded.
  };

  // x: (B, T, kv_heads, h).
  at::Tensor Round(const std::string& site, QuantizedPart part, const at::Tensor& x);
  // R of the header; undefined without one.
  at::Tensor RotationOf(const std::string& site, QuantizedPart part, const at::Tensor& x);
  at::Tensor RoundInBasis(const at::Tensor& exact, QuantizedPart part, SliceGrid& grid) const;

  const std::unique_ptr<Quantization> scheme_;
  const v1::KvCacheSpec spec_;
  const std::optional<std::uint32_t> rotation_seed_;
  at::Tensor rotation_;  // (h, h), of the last head's width and precision.
  bool frozen_ = false;
  bool learns_ = false;         // During Learn(): gradients are recorded.
  std::vector<Entry> entries_;  // In order of first use.
};

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_KV_CACHE_QUANTIZATION_H_
