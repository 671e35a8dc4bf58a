// Keys and values rounded as a cache would keep them, on top of any scheme (KvCacheSpec; Ashkboos et al. 2024, section 4).
//
// Asymmetric integers, one range for each token and head over the features of the head: zeropoint of slice_grid.h. A head whose
// features are all equal stays as it is. Keys are rounded after their norm and rotation, once for all queries that read them.
// Nothing is rounded before Freeze(): ranges of the scheme are calibrated with float keys and values.
//
// The query's own key and value are rounded too, as if they were read from the cache. Keys and values are not rotated by a
// Hadamard matrix first, as they are in the paper.
#ifndef INLIER_CORE_QUANT_KV_CACHE_QUANTIZATION_H_
#define INLIER_CORE_QUANT_KV_CACHE_QUANTIZATION_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/quant/quantization.h"
#include "core/quant/slice_grid.h"

namespace inlier {

class KvCacheQuantization : public Quantization {
 public:
  // `scheme` rounds all other tensors. REQUIRES: 2 <= bits <= 16.
  KvCacheQuantization(std::unique_ptr<Quantization> scheme, int bits)
      : scheme_(std::move(scheme)), bits_(bits) {}

  void OnPass(const at::Tensor& attention_mask) override { scheme_->OnPass(attention_mask); }
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
    return Round(site, QuantizedPart::kValues, values);
  }

  bool needs_calibration() const override { return scheme_->needs_calibration(); }
  absl::Status Freeze() override;
  // The scheme's, then keys and values in order of first use.
  std::vector<QuantizerReport> Table() const override;
  std::optional<Rounding> RoundingOf(const std::string& site, QuantizedPart part, const at::Tensor& tensor,
                                     const at::Tensor& used) override;

 private:
  struct Entry {
    std::string site;
    QuantizedPart part;
    std::vector<std::int64_t> shape;
    SliceGrid grid;  // Of the last tensor.
  };

  // x: (B, T, kv_heads, h).
  at::Tensor Round(const std::string& site, QuantizedPart part, const at::Tensor& x);

  const std::unique_ptr<Quantization> scheme_;
  const int bits_;
  bool frozen_ = false;
  std::vector<Entry> entries_;  // In order of first use.
};

}  // namespace inlier

#endif  // INLIER_CORE_QUANT_KV_CACHE_QUANTIZATION_H_
