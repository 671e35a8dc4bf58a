#include "core/hugging_face/weight_files.h"

#include <cstdio>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/files/mapped_file.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/status.h"
#include "nlohmann/json.hpp"
#include "spec/hugging_face/config_keys.h"
#include "spec/trial/architecture.h"

namespace inlier {
namespace {

namespace fs = std::filesystem;

// The files that an index names, which are all in its folder.
absl::StatusOr<std::set<std::string>> ShardsOf(const fs::path& folder, const fs::path& index,
                                               const DataRoots& roots) {
  ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(index, roots));
  const absl::StatusOr<nlohmann::json> json = ParseJsonText(file.bytes(), index.string());
  if (!json.ok()) return absl::DataLossError(json.status().message());
  if (!json->is_object() || !json->contains("weight_map") || !(*json)["weight_map"].is_object())
    return absl::DataLossError(index.string() + ": is not an index of shards: it has no weight_map");
  std::set<std::string> names;
  std::error_code error;
  for (const auto& [tensor, name] : (*json)["weight_map"].items()) {
    const std::string shard = name.is_string() ? name.get<std::string>() : "";
    if (names.count(shard) > 0) continue;
    if (shard.empty() || shard.find('/') != std::string::npos || !fs::exists(folder / shard, error)) {
      return absl::DataLossError(
          absl::StrCat(index.string(), ": one of its tensors is in no file of this folder"));
    }
    names.insert(shard);
  }
  return names;
}

// Values of the smallest model of this spec: its embeddings, and of each layer a matrix for queries, one for the
// attention's output, two for the feed-forward network and one of each gate.
double FewestValues(const v1::TrialSpec& spec) {
  double values = 0;
  VisitArchitecture(spec.model(), [&](std::string_view, const auto& model) {
    const double width = model.hidden_size();
    const double gates = spec.attention().gate().mlp().hidden_size();
    double inner = width;
    if constexpr (requires { model.head_size(); }) {
      if (model.has_head_size()) inner = static_cast<double>(model.head_size()) * model.heads();
    }
    values = model.layers() * (2.0 * width * inner + 2.0 * width * model.ffn_size() + width * gates);
    if constexpr (requires { model.vocab_size(); }) {
      double row = width;
      if constexpr (requires { model.embedding_size(); }) row = model.embedding_size();
      values += model.vocab_size() * row;
      // A rotary model has no table of positions.
      if constexpr (!requires { model.kv_heads(); }) values += model.max_positions() * width;
    } else {
      const double side = model.image_size() / model.patch_size();
      values += width * (side * side + static_cast<double>(model.registers()) +
                         static_cast<double>(model.patch_size()) * model.patch_size() * model.channels());
    }
  });
  return values;
}

// Bytes, as Linux estimates them; nothing where it does not say.
std::optional<double> FreeMemory() {
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    double kibibytes = 0;
    if (line.starts_with("MemAvailable:") &&
        std::sscanf(line.c_str(), "MemAvailable: %lf kB", &kibibytes) == 1)
      return kibibytes * 1024;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<WeightFiles> WeightFiles::Open(const fs::path& source, const DataRoots& roots) {
  WeightFiles files;
  std::error_code error;
  if (!fs::is_directory(source, error)) {
    RETURN_IF_ERROR(files.Add(source, roots));
    return files;
  }
  // An index next to it may be left from an earlier save.
  std::set<std::string> names = {"model.safetensors"};
  if (!fs::exists(source / "model.safetensors", error)) {
    const fs::path index = source / "model.safetensors.index.json";
    if (!fs::exists(index, error)) {
      return absl::NotFoundError(absl::StrCat((source / "model.safetensors").string(),
                                              ": there is no such file; save the model with "
                                              "safe_serialization=True (pickled .bin files are not read)"));
    }
    ASSIGN_OR_RETURN(names, ShardsOf(source, index, roots));
  }
  for (const std::string& name : names) RETURN_IF_ERROR(files.Add(source / name, roots));
  return files;
}

absl::Status WeightFiles::Add(const fs::path& path, const DataRoots& roots) {
  ASSIGN_OR_RETURN(SafetensorsReader reader, SafetensorsReader::Open(path, roots));
  for (const auto& [tensor, entry] : reader.entries()) {
    if (!tensors_.emplace(tensor, readers_.size()).second) {
      return absl::DataLossError(absl::StrCat(path.string(), ": the tensor number ", entry.number,
                                              " of its header is in another file too"));
    }
  }
  readers_.push_back(std::move(reader));
  return absl::OkStatus();
}

const SafetensorsEntry* WeightFiles::Find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &readers_[found->second].entries().at(name);
}

absl::StatusOr<at::Tensor> WeightFiles::Load(const std::string& name) const {
  return readers_[tensors_.at(name)].LoadWeight(name);
}

std::string WeightFiles::PlaceOf(const std::string& name) const {
  return absl::StrCat("tensor number ", Find(name)->number, " of ",
                      readers_[tensors_.at(name)].path().filename().string(), "'s header");
}

double WeightFiles::values() const {
  double values = 0;
  for (const SafetensorsReader& reader : readers_) {
    for (const auto& [name, entry] : reader.entries()) {
      double size = 1;
      for (const std::int64_t length : entry.shape) size *= static_cast<double>(length);
      values += size;
    }
  }
  return values;
}

absl::Status WeightFiles::CheckMemory() const {
  constexpr double kGib = 1 << 30;
  const double needed = values() * sizeof(float) / kGib;
  if (needed < 1) return absl::OkStatus();
  const std::optional<double> free = FreeMemory();
  spdlog::info("model_memory gib={:.1f} free_gib={:.1f} format=float32", needed, free.value_or(0) / kGib);
  if (!free || needed < *free / kGib) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat(
      "%s: the weights take %.1f GiB of memory in float32, and %.1f GiB are free on this machine; use one "
      "with more, or a smaller model",
      readers_[0].path().parent_path().string(), needed, *free / kGib));
}

absl::Status WeightFiles::CheckSizes(const v1::TrialSpec& spec, std::string_view model_type) const {
  double layers = 0;
  VisitArchitecture(spec.model(),
                    [&layers](std::string_view, const auto& model) { layers = model.layers(); });
  const std::string architecture(ArchitectureName(spec.model()));
  const auto key = [&](const char* field) {
    return std::string(KeyOfField(model_type, absl::StrCat("model.", architecture, ".", field)));
  };
  if (layers > static_cast<double>(tensors_.size())) {
    return absl::InvalidArgumentError(absl::StrCat(key("layers"), ": is ", layers, ", and the weights have ",
                                                   tensors_.size(), " tensors; they do not belong together"));
  }
  if (FewestValues(spec) <= values()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      key("hidden_size"), ": with the other sizes of config.json it makes a model of more than the ",
      values(), " values that the weights have; they do not belong together"));
}

}  // namespace inlier
