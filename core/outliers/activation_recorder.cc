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

// A measured tensor: its site, with "*" for the layer's number, and its role.
struct ActivationRecorder::MeasuredSite {
  std::string_view path;
  Role role;
  bool kurtosis;
};

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
  Record(const std::string& site, const MeasuredSite& measured)
      : name(site), role(measured.role), kurtosis(measured.kurtosis) {}

  std::string name;
  Role role;
  bool kurtosis;
  int batches = 0;
  RowSum inf_norms;
  RowSum kurtoses;
};

const std::vector<ActivationRecorder::MeasuredSite>& ActivationRecorder::MeasuredSites(
    v1::ModelSpec::ArchitectureCase architecture) {
  static const auto* const bert = new std::vector<MeasuredSite>{
      {"bert.encoder.layer.*.output.dense", Role::kFfnOutput, true},
      {"bert.encoder.layer.*.output.LayerNorm.input", Role::kResidual, false},
      {"bert.encoder.layer.*.output.LayerNorm", Role::kLayerOutput, true},
  };
  static const auto* const opt = new std::vector<MeasuredSite>{
      {"model.decoder.layers.*.self_attn_layer_norm", Role::kOther, true},
      {"model.decoder.layers.*.self_attn.out_proj", Role::kOther, true},
      {"model.decoder.layers.*.final_layer_norm", Role::kOther, true},
      {"model.decoder.layers.*.fc2", Role::kFfnOutput, true},
      {"model.decoder.layers.*", Role::kLayerOutput, true},
      {"model.decoder.final_layer_norm", Role::kOther, true},
  };
  static const auto* const gpt2 = new std::vector<MeasuredSite>{
      {"transformer.h.*.ln_1", Role::kOther, true},  {"transformer.h.*.attn.c_proj", Role::kOther, true},
      {"transformer.h.*.ln_2", Role::kOther, true},  {"transformer.h.*.mlp.c_proj", Role::kFfnOutput, true},
      {"transformer.h.*", Role::kLayerOutput, true}, {"transformer.ln_f", Role::kOther, true},
  };
  static const auto* const llama = new std::vector<MeasuredSite>{
      {"model.layers.*.input_layernorm", Role::kOther, true},
      {"model.layers.*.self_attn.o_proj", Role::kOther, true},
      {"model.layers.*.post_attention_layernorm", Role::kOther, true},
      {"model.layers.*.mlp.down_proj", Role::kFfnOutput, true},
      {"model.layers.*", Role::kLayerOutput, true},
      {"model.norm", Role::kOther, true},
  };
  static const auto* const vit = new std::vector<MeasuredSite>{
      {"vit.encoder.layer.*.layernorm_before", Role::kOther, true},
      {"vit.encoder.layer.*.attention.output.dense", Role::kOther, true},
      {"vit.encoder.layer.*.layernorm_after", Role::kOther, true},
      {"vit.encoder.layer.*.output.dense", Role::kFfnOutput, true},
      {"vit.encoder.layer.*", Role::kLayerOutput, true},
      {"vit.layernorm", Role::kOther, true},
  };
  switch (architecture) {
    case v1::ModelSpec::kBert:
      return *bert;
    case v1::ModelSpec::kOpt:
      return *opt;
    case v1::ModelSpec::kGpt2:
      return *gpt2;
    case v1::ModelSpec::kLlama:
      return *llama;
    case v1::ModelSpec::kVit:
      return *vit;
    case v1::ModelSpec::ARCHITECTURE_NOT_SET:
      break;
  }
  INLIER_CHECK(false && "a model without an architecture");
}

ActivationRecorder::ActivationRecorder(v1::ModelSpec::ArchitectureCase architecture,
                                       const RecorderOptions& options)
    : architecture_(architecture), options_(options) {
  INLIER_CHECK(options.kurtosis_batches >= 1);
}

ActivationRecorder::~ActivationRecorder() = default;

void ActivationRecorder::OnPass(const at::Tensor& attention_mask) {
  if (!options_.count_padding) mask_ = MakeTokenMask(attention_mask);
}

ActivationRecorder::Record* ActivationRecorder::Find(const std::string& site) {
  const auto found = record_of_site_.find(site);
  if (found != record_of_site_.end()) return found->second;
  Record* record = nullptr;
  const std::string path = WithoutLayerNumber(site);
  for (const MeasuredSite& measured : MeasuredSites(architecture_)) {
    if (measured.path != path) continue;
    records_.push_back(std::make_unique<Record>(site, measured));
    record = records_.back().get();
  }
  record_of_site_.emplace(site, record);
  return record;
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
                            .max_residual_inf_norm = std::nullopt,
                            .max_any_inf_norm = any.value,
                            .avg_kurtosis = kurtosis_sum / kurtosis_count,
                            .max_kurtosis = kurtosis.value,
                            .max_layer_kurtosis = layer_kurtosis.value};
  if (has_residual) summary.max_residual_inf_norm = residual.value;
  return summary;
}

}  // namespace inlier
