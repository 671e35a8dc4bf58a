#include "core/optim/sharded_optimizer.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "nlohmann/json.hpp"

namespace inlier {
namespace {

// `text` of the rank `root`, on every rank.
std::string Shared(Gang& gang, const std::string& text, int root) {
  const at::Tensor length = at::full({1}, static_cast<std::int64_t>(text.size()), at::kLong);
  gang.Broadcast({length}, root);
  const at::Tensor bytes = at::zeros({length.item<std::int64_t>()}, at::kByte);
  if (gang.rank() == root) std::memcpy(bytes.mutable_data_ptr(), text.data(), text.size());
  if (bytes.numel() > 0) gang.Broadcast({bytes}, root);
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<std::size_t>(bytes.numel())};
}

// Names, types and shapes.
std::string LayoutOf(const std::vector<NamedParameter>& state) {
  nlohmann::json layout = nlohmann::json::array();
  for (const auto& [name, tensor] : state)
    layout.push_back({name, static_cast<int>(tensor.scalar_type()), tensor.sizes().vec()});
  return layout.dump();
}

// Zeros of that layout, on the CPU.
std::vector<NamedParameter> ZerosOf(const std::string& layout) {
  std::vector<NamedParameter> state;
  for (const nlohmann::json& item : nlohmann::json::parse(layout)) {
    state.emplace_back(
        item[0].get<std::string>(),
        at::zeros(item[2].get<std::vector<std::int64_t>>(), static_cast<at::ScalarType>(item[1].get<int>())));
  }
  return state;
}

}  // namespace

std::vector<int> RanksOf(const std::vector<NamedParameter>& parameters, int ranks) {
  std::vector<std::size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return parameters[a].second.numel() > parameters[b].second.numel();
  });
  std::vector<std::int64_t> elements(static_cast<std::size_t>(ranks), 0);
  std::vector<int> rank_of(parameters.size(), 0);
  for (const std::size_t i : order) {
    const auto lightest = std::min_element(elements.begin(), elements.end());
    *lightest += parameters[i].second.numel();
    rank_of[i] = static_cast<int>(lightest - elements.begin());
  }
  return rank_of;
}

ShardedOptimizer::ShardedOptimizer(const std::vector<NamedParameter>& parameters, Gang& gang,
                                   const Make& make)
    : gang_(gang), parameters_(static_cast<std::size_t>(gang.processes())) {
  const std::vector<int> rank_of = RanksOf(parameters, gang.processes());
  std::vector<NamedParameter> own;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters_[static_cast<std::size_t>(rank_of[i])].push_back(parameters[i].second.detach());
    if (rank_of[i] == gang.rank()) {
      own.push_back(parameters[i]);
    } else {
      of_others_.insert(parameters[i].first);
    }
  }
  if (!own.empty()) own_ = make(own);
}

void ShardedOptimizer::Step(double learning_rate) {
  if (own_ != nullptr) own_->Step(learning_rate);
  for (int rank = 0; rank < gang_.processes(); ++rank)
    gang_.Broadcast(parameters_[static_cast<std::size_t>(rank)], rank);
}

std::vector<NamedParameter> ShardedOptimizer::State() const {
  std::vector<NamedParameter> own, all;
  if (own_ != nullptr) {
    for (const auto& [name, tensor] : own_->State()) own.emplace_back(name, tensor.cpu());
  }
  std::set<std::string> names;  // Counts of updates are on every rank, and equal.
  for (int root = 0; root < gang_.processes(); ++root) {
    const bool mine = root == gang_.rank();
    const std::string layout = Shared(gang_, mine ? LayoutOf(own) : "", root);
    const std::vector<NamedParameter> state = mine ? own : ZerosOf(layout);
    std::vector<at::Tensor> tensors;
    for (const auto& [name, tensor] : state) tensors.push_back(tensor);
    gang_.Broadcast(tensors, root);
    if (gang_.rank() != 0) continue;
    for (const NamedParameter& item : state) {
      if (names.insert(item.first).second) all.push_back(item);
    }
  }
  return all;
}

absl::Status ShardedOptimizer::LoadState(const std::map<std::string, at::Tensor>& state) {
  if (own_ == nullptr) return absl::OkStatus();
  std::map<std::string, at::Tensor> own;  // Names are "<kind>/<parameter's name>", or of no parameter.
  for (const auto& [name, tensor] : state) {
    const std::size_t slash = name.find('/');
    if (slash == std::string::npos || !of_others_.contains(name.substr(slash + 1))) own.emplace(name, tensor);
  }
  return own_->LoadState(own);
}

}  // namespace inlier
