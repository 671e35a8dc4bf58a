// Tensors in a file in the safetensors format: 8 bytes little-endian header length, a JSON header
// {"__metadata__": {string: string}, "<name>": {"dtype", "shape", "data_offsets": [begin, end]}}, then the
// tensors' bytes, row-major.
//
// Reading checks lengths, offsets, overlaps, holes, types and byte counts against the file's size before any
// tensor is read; every error names the file and, where there is one, the tensor's place in the header.
// Writing goes to a temporary file in the same folder, which is flushed to the disk and renamed over the
// target: a reader sees the old file or the new one, never a part of one.
//
// Thread safety: a reader may be used by several threads at once.
#ifndef INLIER_CORE_IO_SAFETENSORS_H_
#define INLIER_CORE_IO_SAFETENSORS_H_

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/data/data_roots.h"
#include "core/io/safetensors_header.h"

namespace inlier {

using TensorMap = std::map<std::string, at::Tensor>;

// A checked file, kept open. Copies share it. A file that is replaced (renamed over) after Open is still read
// in its old version.
class SafetensorsReader {
 public:
  // NotFound, or DataLoss that names the fault and its place; Load reads the data itself. Known types: F64,
  // F32, BF16, F16, I64, I32, U8 and BOOL. Errors too as RegularFile::Open.
  static absl::StatusOr<SafetensorsReader> Open(const std::filesystem::path& path,
                                                const DataRoots& roots = {});

  const std::filesystem::path& path() const;
  const std::map<std::string, SafetensorsEntry>& entries() const;
  // The header's __metadata__; empty when it has none.
  const StringMap& metadata() const;

  // A copy of the tensor on the CPU. NotFound names the tensor and the file.
  absl::StatusOr<at::Tensor> Load(const std::string& name) const;
  // As Load, for a weight of a model. InvalidArgument, with their number, when some of its values are not
  // finite: not every kernel propagates such values (the fused attention on a CPU gives zeros).
  absl::StatusOr<at::Tensor> LoadWeight(const std::string& name) const;
  absl::StatusOr<TensorMap> LoadAll() const;

 private:
  struct File;
  std::shared_ptr<const File> file_;
};

// Every tensor of the file; its metadata into `metadata` when that is not null.
absl::StatusOr<TensorMap> LoadSafetensors(const std::filesystem::path& path, StringMap* metadata = nullptr);

// Writes `tensors` (any device, any strides), the widest items first, then by name. The same input gives the
// same bytes. `sha256` gets the digest of the bytes that were written; they are not read back.
absl::Status SaveSafetensors(const std::filesystem::path& path, const TensorMap& tensors,
                             const StringMap& metadata = {}, std::string* sha256 = nullptr);

}  // namespace inlier

#endif  // INLIER_CORE_IO_SAFETENSORS_H_
