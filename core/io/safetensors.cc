#include "core/io/safetensors.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/files/atomic_file.h"
#include "base/files/regular_file.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian and is copied as it is");

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
absl::Status Damaged(const std::filesystem::path& path, const std::string& what) {
  return absl::DataLossError(absl::StrCat(path.string(), ": not a valid safetensors file: ", what));
}

absl::Status ReadAll(const RegularFile& file, std::uint64_t offset, void* to, std::uint64_t bytes) {
  ASSIGN_OR_RETURN(const std::size_t got, file.ReadAt(offset, to, bytes));
  return got == bytes ? absl::OkStatus() : Damaged(file.path(), "the file became shorter while it was read");
}

}  // namespace

struct SafetensorsReader::File {
  RegularFile file;
  std::uint64_t data_start = 0;
  SafetensorsHeader header;
};

absl::StatusOr<SafetensorsReader> SafetensorsReader::Open(const std::filesystem::path& path,
                                                          const DataRoots& roots) {
  ASSIGN_OR_RETURN(RegularFile file, RegularFile::Open(path, roots));
  std::uint64_t header_bytes = 0;
  if (file.size() < sizeof header_bytes)
    return Damaged(path, absl::StrCat("only ", file.size(), " bytes long"));
  RETURN_IF_ERROR(ReadAll(file, 0, &header_bytes, sizeof header_bytes));
  // The number is not quoted: of another kind of file it is eight bytes of content.
  if (header_bytes > file.size() - sizeof header_bytes) {
    return Damaged(path, absl::StrCat("it announces a header that is longer than the ",
                                      file.size() - sizeof header_bytes, " bytes after its length"));
  }
  if (header_bytes > kMaxHeaderBytes)
    return Damaged(path, absl::StrCat("its header is over the limit of ", kMaxHeaderBytes, " bytes"));
  std::string text(header_bytes, '\0');
  RETURN_IF_ERROR(ReadAll(file, sizeof header_bytes, text.data(), header_bytes));
  const std::uint64_t data_start = sizeof header_bytes + header_bytes;
  absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeader(text, file.size() - data_start);
  if (!header.ok()) return Damaged(path, std::string(header.status().message()));
  SafetensorsReader reader;
  reader.file_ = std::make_shared<const File>(File{std::move(file), data_start, *std::move(header)});
  return reader;
}

const std::filesystem::path& SafetensorsReader::path() const { return file_->file.path(); }

const std::map<std::string, SafetensorsEntry>& SafetensorsReader::entries() const {
  return file_->header.entries;
}

const StringMap& SafetensorsReader::metadata() const { return file_->header.metadata; }

absl::StatusOr<at::Tensor> SafetensorsReader::Load(const std::string& name) const {
  const auto found = entries().find(name);
  if (found == entries().end()) {
    return absl::NotFoundError(absl::StrCat(file_->file.path().string(), ": no tensor \"", name, "\""));
  }
  const SafetensorsEntry& entry = found->second;
  at::Tensor tensor = at::empty(entry.shape, at::TensorOptions().dtype(entry.dtype));
  RETURN_IF_ERROR(
      ReadAll(file_->file, file_->data_start + entry.begin, tensor.data_ptr(), entry.end - entry.begin));
  if (entry.dtype == at::kBool) {
    const auto* bytes = static_cast<const unsigned char*>(tensor.data_ptr());
    if (std::any_of(bytes, bytes + (entry.end - entry.begin), [](unsigned char byte) { return byte > 1; })) {
      return Damaged(file_->file.path(), absl::StrCat("tensor number ", entry.number,
                                                      " of its header: a BOOL that is neither 0 nor 1"));
    }
  }
  return tensor;
}

absl::StatusOr<at::Tensor> SafetensorsReader::LoadWeight(const std::string& name) const {
  ASSIGN_OR_RETURN(at::Tensor tensor, Load(name));
  const auto bad = tensor.isfinite().logical_not().sum().item<std::int64_t>();
  if (bad == 0) return tensor;
  return absl::InvalidArgumentError(absl::StrCat(
      file_->file.path().string(), ": the tensor ", name, " holds ", bad, " of ", tensor.numel(),
      " values that are not finite: its training diverged or the file is damaged; use an earlier "
      "checkpoint of it"));
}

absl::StatusOr<TensorMap> SafetensorsReader::LoadAll() const {
  TensorMap tensors;
  for (const auto& [name, entry] : entries()) {
    ASSIGN_OR_RETURN(tensors[name], Load(name));
  }
  return tensors;
}

absl::StatusOr<TensorMap> LoadSafetensors(const std::filesystem::path& path, StringMap* metadata) {
  ASSIGN_OR_RETURN(const SafetensorsReader reader, SafetensorsReader::Open(path));
  if (metadata != nullptr) *metadata = reader.metadata();
  return reader.LoadAll();
}

absl::Status SaveSafetensors(const std::filesystem::path& path, const TensorMap& tensors,
                             const StringMap& metadata, std::string* sha256) {
  // Wide items first, so that every tensor is aligned for programs that map the file.
  std::vector<std::pair<const std::string*, const at::Tensor*>> order;
  for (const auto& [name, tensor] : tensors) {
    if (name == kSafetensorsMetadata)
      return absl::InvalidArgumentError(absl::StrCat(path.string(), ": no tensor can be called ", name));
    if (!tensor.defined() || SafetensorsName(tensor.scalar_type()) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          path.string(), ": tensor \"", name,
          "\" cannot be stored: ", tensor.defined() ? c10::toString(tensor.scalar_type()) : "undefined"));
    }
    order.emplace_back(&name, &tensor);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second->element_size() > b.second->element_size();
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kSafetensorsMetadata] = metadata;
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : order) {
    const std::uint64_t bytes = tensor->numel() * tensor->element_size();
    header[*name] = {{"dtype", SafetensorsName(tensor->scalar_type())},
                     {"shape", tensor->sizes().vec()},
                     {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": a name or metadata value is not UTF-8: ", error.what()));
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kMaxHeaderBytes) {
    return absl::InvalidArgumentError(absl::StrCat(path.string(), ": a header of ", text.size(),
                                                   " bytes is over the limit of ", kMaxHeaderBytes));
  }

  AtomicFile file(path);
  Sha256 digest;
  const auto append = [&](std::string_view bytes) {
    if (sha256 != nullptr) digest.Update(bytes);
    return file.Append(bytes);
  };
  const std::uint64_t header_bytes = text.size();
  RETURN_IF_ERROR(append({reinterpret_cast<const char*>(&header_bytes), sizeof header_bytes}));
  RETURN_IF_ERROR(append(text));
  for (const auto& [name, tensor] : order) {
    const at::Tensor bytes = tensor->detach().cpu().contiguous();
    RETURN_IF_ERROR(
        append({static_cast<const char*>(bytes.data_ptr()), static_cast<std::size_t>(bytes.nbytes())}));
  }
  if (sha256 != nullptr) *sha256 = digest.HexDigest();
  return file.Commit();
}

}  // namespace inlier
