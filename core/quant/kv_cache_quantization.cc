#include "core/quant/kv_cache_quantization.h"

#include <c10/core/GradMode.h>

#include <algorithm>

#include "core/quant/part_grid.h"

namespace inlier {

absl::Status KvCacheQuantization::Freeze() {
  frozen_ = true;
  return scheme_->Freeze();
}

at::Tensor KvCacheQuantization::Round(const std::string& site, QuantizedPart part, const at::Tensor& x) {
  if (!frozen_ || x.numel() == 0) return x;
  const c10::NoGradGuard no_grad;
  auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& candidate) {
    return candidate.part == part && candidate.site == site;
  });
  if (entry == entries_.end())
    entry = entries_.insert(entry, {.site = site, .part = part, .shape = x.sizes().vec(), .grid = {}});
  entry->grid = ZeropointGrid(x, bits_, {-1});
  return RoundToGrid(x, entry->grid);
}

std::vector<QuantizerReport> KvCacheQuantization::Table() const {
  std::vector<QuantizerReport> table = scheme_->Table();
  int order = table.empty() ? 0 : table.back().order + 1;
  for (const Entry& entry : entries_) {
    table.push_back({.order = order++,
                     .site = entry.site,
                     .part = entry.part,
                     .bits = bits_,
                     .symmetric = false,
                     .is_signed = false,
                     .shape = entry.shape,
                     .grid = ReportedGrid(entry.grid)});
  }
  return table;
}

std::optional<Rounding> KvCacheQuantization::RoundingOf(const std::string& site, QuantizedPart part,
                                                        const at::Tensor& tensor, const at::Tensor& used) {
  if (part == QuantizedPart::kKeys || part == QuantizedPart::kValues)
    return Quantization::RoundingOf(site, part, tensor, used);
  return scheme_->RoundingOf(site, part, tensor, used);
}

}  // namespace inlier
