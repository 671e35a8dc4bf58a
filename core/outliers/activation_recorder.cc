#include "core/outliers/activation_recorder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/check.h"
#include "core/outliers/outlier_metrics.h"

namespace inlier {
namespace {

// `site` with the first of its components that is a number replaced by "*".
std::string WithoutLayerNumber(const std::string& site) {
  for (std::size_t begin = 0; begin < site.size();) {
    const std::size_t end = std::min(site.find('.', begin), site.size());
    if (std::all_of(site.begin() + begin, site.begin() + end,
                    [](unsigned char c) { return std::isdigit(c); })) {
      return site.substr(0, begin) + "*" + site.substr(end);
    }
    begin = end + 1;
  }
  return site;
}

// The largest number, NaN when there is one; a diverged model must not look healthy.
struct Largest {
  double value = -std::numeric_limits<double>::infinity();
  void Add(double x) {
    if (std::isnan(x) || x > value) value = x;
  }
};

}  // namespace

// The values of the rows of one metric of one tensor.
struct ActivationRecorder::RowSum {
  at::Tensor sum;    // On the device of the activations, without synchronisation. The same for the next.
  at::Tensor count;  // In double.
  std::vector<at::Tensor> kept;  // One tensor a batch; only with keep_rows.

  // `hidden`: (rows) bool, true = not to be added; undefined: all are.
  void Add(const at::Tensor& rows, const at::Tensor& hidden, bool keep) {
    at::Tensor values = rows.to(at::kDouble), added = at::full({}, values.numel(), values.options());
    if (hidden.defined()) {
      if (keep) kept.push_back(values.masked_select(hidden.logical_not()));
      values = values.masked_fill(hidden, 0);
      added = added.sub_(hidden.sum());
    } else if (keep) {
      kept.push_back(values);
    }
    sum = sum.defined() ? sum.add(values.sum()) : values.sum();
    count = count.defined() ? count.add(added) : added;
  }
  double Mean() const { return sum.item<double>() / count.item<double>(); }
};

struct ActivationRecorder::Record {
  std::string name;
  Role role;
  bool kurtosis;
  int batches = 0;
  RowSum inf_norms = {};
  RowSum kurtoses = {};
};

ActivationRecorder::ActivationRecorder(v1::ModelSpec::ArchitectureCase architecture,
                                       const RecorderOptions& options)
    : architecture_(architecture), options_(options) {
  INLIER_CHECK(options.kurtosis_batches >= 1 && architecture != v1::ModelSpec::ARCHITECTURE_NOT_SET);
}

ActivationRecorder::~ActivationRecorder() = default;

void ActivationRecorder::OnPass(const at::Tensor& attention_mask) {
  if (!options_.count_padding) mask_ = MakeTokenMask(attention_mask);
}

ActivationRecorder::Record* ActivationRecorder::Find(const std::string& site) {
  using Spec = v1::ModelSpec;
  static constexpr struct {
    Spec::ArchitectureCase architecture;
    std::string_view path;  // With "*" for the layer's number.
    Role role = Role::kOther;
    bool kurtosis = true;
  } kMeasured[] = {
      {Spec::kBert, "bert.encoder.layer.*.output.dense", Role::kFfnOutput},
      {Spec::kBert, "bert.encoder.layer.*.output.LayerNorm.input", Role::kResidual, false},
      {Spec::kBert, "bert.encoder.layer.*.output.LayerNorm", Role::kLayerOutput},
      {Spec::kOpt, "model.decoder.layers.*.self_attn_layer_norm"},
      {Spec::kOpt, "model.decoder.layers.*.self_attn.out_proj"},
      {Spec::kOpt, "model.decoder.layers.*.final_layer_norm"},
      {Spec::kOpt, "model.decoder.layers.*.fc2", Role::kFfnOutput},
      {Spec::kOpt, "model.decoder.layers.*", Role::kLayerOutput},
      {Spec::kOpt, "model.decoder.final_layer_norm"},
      {Spec::kGpt2, "transformer.h.*.ln_1"},
      {Spec::kGpt2, "transformer.h.*.attn.c_proj"},
      {Spec::kGpt2, "transformer.h.*.ln_2"},
      {Spec::kGpt2, "transformer.h.*.mlp.c_proj", Role::kFfnOutput},
      {Spec::kGpt2, "transformer.h.*", Role::kLayerOutput},
      {Spec::kGpt2, "transformer.ln_f"},
      {Spec::kLlama, "model.layers.*.input_layernorm"},
      {Spec::kLlama, "model.layers.*.self_attn.o_proj"},
      {Spec::kLlama, "model.layers.*.post_attention_layernorm"},
      {Spec::kLlama, "model.layers.*.mlp.down_proj", Role::kFfnOutput},
      {Spec::kLlama, "model.layers.*", Role::kLayerOutput},
      {Spec::kLlama, "model.norm"},
      {Spec::kVit, "vit.encoder.layer.*.layernorm_before"},
      {Spec::kVit, "vit.encoder.layer.*.attention.output.dense"},
      {Spec::kVit, "vit.encoder.layer.*.layernorm_after"},
      {Spec::kVit, "vit.encoder.layer.*.output.dense", Role::kFfnOutput},
      {Spec::kVit, "vit.encoder.layer.*", Role::kLayerOutput},
      {Spec::kVit, "vit.layernorm"},
  };
  const auto [place, is_new] = record_of_site_.try_emplace(site, nullptr);
  if (!is_new) return place->second;
  const std::string path = WithoutLayerNumber(site);
  for (const auto& measured : kMeasured) {
    if (measured.architecture != architecture_ || measured.path != path) continue;
    place->second = records_.emplace_back(new Record{site, measured.role, measured.kurtosis}).get();
  }
  return place->second;
}

at::Tensor ActivationRecorder::OnActivation(const std::string& site, const at::Tensor& activation) {
  Record* record = Find(site);
  if (record == nullptr) return activation;
  const c10::NoGradGuard no_grad;
  const at::Tensor padding = PaddingOf(mask_, activation);
  const at::Tensor hidden_rows =
      padding.defined() ? padding.reshape({activation.size(0), -1}).all(1) : at::Tensor();
  record->inf_norms.Add(RowInfNorm(activation, padding), hidden_rows, options_.keep_rows);
  if (record->kurtosis && record->batches < options_.kurtosis_batches)
    record->kurtoses.Add(RowKurtosis(activation, padding), hidden_rows, options_.keep_rows);
  ++record->batches;
  return activation;
}

std::vector<SiteOutliers> ActivationRecorder::Sites() const {
  std::vector<SiteOutliers> sites;
  for (const auto& record : records_) {
    SiteOutliers site;
    site.name = record->name;
    site.inf_norm = record->inf_norms.Mean();
    if (record->kurtosis) site.kurtosis = record->kurtoses.Mean();
    if (!record->inf_norms.kept.empty()) site.row_inf_norm = at::cat(record->inf_norms.kept).to(at::kCPU);
    if (!record->kurtoses.kept.empty()) site.row_kurtosis = at::cat(record->kurtoses.kept).to(at::kCPU);
    sites.push_back(std::move(site));
  }
  return sites;
}

OutlierSummary ActivationRecorder::Summary() const {
  INLIER_CHECK(!records_.empty());
  Largest ffn, layer, residual, any, kurtosis, layer_kurtosis;
  double kurtosis_sum = 0;
  int kurtosis_count = 0;
  bool has_residual = false;
  const std::vector<SiteOutliers> sites = Sites();
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const Role role = records_[i]->role;
    any.Add(sites[i].inf_norm);
    if (role == Role::kFfnOutput) ffn.Add(sites[i].inf_norm);
    if (role == Role::kLayerOutput) layer.Add(sites[i].inf_norm);
    if (role == Role::kResidual) {
      residual.Add(sites[i].inf_norm);
      has_residual = true;
    }
    if (!sites[i].kurtosis) continue;
    kurtosis.Add(*sites[i].kurtosis);
    if (role == Role::kLayerOutput) layer_kurtosis.Add(*sites[i].kurtosis);
    kurtosis_sum += *sites[i].kurtosis;
    ++kurtosis_count;
  }
  OutlierSummary summary = {.max_inf_norm = architecture_ == v1::ModelSpec::kBert ? ffn.value : layer.value,
                            .max_ffn_inf_norm = ffn.value,
                            .max_layer_inf_norm = layer.value,
                            .max_any_inf_norm = any.value,
                            .avg_kurtosis = kurtosis_sum / kurtosis_count,
                            .max_kurtosis = kurtosis.value,
                            .max_layer_kurtosis = layer_kurtosis.value};
  if (has_residual) summary.max_residual_inf_norm = residual.value;
  return summary;
}

}  // namespace inlier
