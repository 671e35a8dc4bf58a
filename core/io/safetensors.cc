#include "core/io/safetensors.h"

#include <ATen/Functions.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian and is copied as it is");

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr char kMetadataKey[] = "__metadata__";

struct DtypeName {
  const char* name;
  at::ScalarType type;
};
constexpr std::array<DtypeName, 8> kDtypes = {{{"F64", at::kDouble},
                                               {"F32", at::kFloat},
                                               {"BF16", at::kBFloat16},
                                               {"F16", at::kHalf},
                                               {"I64", at::kLong},
                                               {"I32", at::kInt},
                                               {"U8", at::kByte},
                                               {"BOOL", at::kBool}}};

std::optional<at::ScalarType> TypeOf(const std::string& name) {
  for (const DtypeName& dtype : kDtypes) {
    if (name == dtype.name) return dtype.type;
  }
  return std::nullopt;
}

const char* NameOf(at::ScalarType type) {
  for (const DtypeName& dtype : kDtypes) {
    if (type == dtype.type) return dtype.name;
  }
  return nullptr;
}

absl::Status Damaged(const std::filesystem::path& path, const std::string& what) {
  return absl::DataLossError(absl::StrCat(path.string(), ": not a valid safetensors file: ", what));
}

absl::Status Damaged(const std::filesystem::path& path, const std::string& tensor, const std::string& what) {
  return Damaged(path, absl::StrCat("tensor \"", tensor, "\": ", what));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

absl::Status ReadAt(int fd, std::uint64_t offset, void* to, std::uint64_t bytes,
                    const std::filesystem::path& path) {
  char* out = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got =
        ::pread(fd, out, std::min<std::uint64_t>(bytes, 1U << 30), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("reading " + path.string());
    if (got == 0) return Damaged(path, "the file became shorter while it was read");
    out += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::uint64_t>(got);
  }
  return absl::OkStatus();
}

// The header as JSON, refusing names that occur twice (the parser would keep the last silently).
absl::StatusOr<nlohmann::json> ParseHeader(const std::string& text, const std::filesystem::path& path) {
  std::set<std::string> names;
  std::string doubled;
  const auto note_names = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (event == nlohmann::json::parse_event_t::key && depth == 1) {
      const std::string name = value.get<std::string>();
      if (!names.insert(name).second) doubled = name;
    }
    return true;
  };
  nlohmann::json header;
  try {
    header = nlohmann::json::parse(text, note_names);
  } catch (const nlohmann::json::exception& error) {
    return Damaged(path, absl::StrCat("the header is not JSON: ", error.what()));
  }
  if (!header.is_object()) return Damaged(path, "the header is not a JSON object");
  if (!doubled.empty()) return Damaged(path, doubled, "occurs twice in the header");
  return header;
}

absl::StatusOr<SafetensorsEntry> ParseEntry(const std::string& name, const nlohmann::json& value,
                                            std::uint64_t data_bytes, const std::filesystem::path& path) {
  SafetensorsEntry entry;
  if (!value.is_object()) return Damaged(path, name, "its header entry is not an object");
  const auto dtype = value.find("dtype");
  const auto shape = value.find("shape");
  const auto offsets = value.find("data_offsets");
  if (dtype == value.end() || !dtype->is_string()) return Damaged(path, name, "no dtype");
  const std::optional<at::ScalarType> type = TypeOf(dtype->get<std::string>());
  if (!type) {
    return Damaged(path, name,
                   absl::StrCat("dtype ", dtype->get<std::string>(),
                                " is not one of F64, F32, BF16, F16, I64, I32, U8, BOOL"));
  }
  entry.dtype = *type;
  if (shape == value.end() || !shape->is_array()) return Damaged(path, name, "no shape");
  const std::uint64_t item_bytes = c10::elementSize(*type);
  std::uint64_t bytes = item_bytes;
  bool empty = false;
  for (const nlohmann::json& size : *shape) {
    if (!size.is_number_unsigned())
      return Damaged(path, name, "a size in its shape is not a whole number from 0");
    const std::uint64_t n = size.get<std::uint64_t>();
    if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return Damaged(path, name, "a size in its shape is too large");
    }
    entry.shape.push_back(static_cast<std::int64_t>(n));
    if (n == 0) empty = true;
    if (n != 0 && bytes > std::numeric_limits<std::int64_t>::max() / n)
      return Damaged(path, name, "its shape is too large");
    if (n != 0) bytes *= n;
  }
  if (empty) bytes = 0;
  if (offsets == value.end() || !offsets->is_array() || offsets->size() != 2 ||
      !(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned()) {
    return Damaged(path, name, "data_offsets is not a pair of whole numbers from 0");
  }
  entry.begin = (*offsets)[0].get<std::uint64_t>();
  entry.end = (*offsets)[1].get<std::uint64_t>();
  if (entry.begin > entry.end || entry.end > data_bytes) {
    return Damaged(path, name,
                   absl::StrCat("its bytes [", entry.begin, ", ", entry.end, ") lie outside the ", data_bytes,
                                " bytes of data (is the file cut short?)"));
  }
  if (entry.end - entry.begin != bytes) {
    return Damaged(path, name,
                   absl::StrCat("its shape and dtype need ", bytes, " bytes, its offsets hold ",
                                entry.end - entry.begin));
  }
  return entry;
}

// Every byte of the data belongs to exactly one tensor.
absl::Status CheckCoverage(const std::map<std::string, SafetensorsEntry>& entries, std::uint64_t data_bytes,
                           const std::filesystem::path& path) {
  std::vector<std::pair<const SafetensorsEntry*, const std::string*>> order;
  for (const auto& [name, entry] : entries) order.emplace_back(&entry, &name);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first->begin, a.first->end) < std::pair(b.first->begin, b.first->end);
  });
  std::uint64_t next = 0;
  for (const auto& [entry, name] : order) {
    if (entry->begin < next) return Damaged(path, *name, "its bytes overlap another tensor's");
    if (entry->begin > next)
      return Damaged(path, *name, absl::StrCat(entry->begin - next, " bytes before it belong to no tensor"));
    next = entry->end;
  }
  if (next != data_bytes)
    return Damaged(path, absl::StrCat(data_bytes - next, " bytes at the end belong to no tensor"));
  return absl::OkStatus();
}

absl::StatusOr<StringMap> ParseMetadata(const nlohmann::json& value, const std::filesystem::path& path) {
  StringMap metadata;
  if (!value.is_object()) return Damaged(path, "__metadata__ is not an object");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) return Damaged(path, absl::StrCat("__metadata__ \"", key, "\" is not a string"));
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

}  // namespace

struct SafetensorsReader::File {
  File(std::filesystem::path file_path, int file_descriptor)
      : path(std::move(file_path)), descriptor(file_descriptor) {}
  ~File() { ::close(descriptor); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::filesystem::path path;
  int descriptor;
  std::uint64_t data_start = 0;
  std::map<std::string, SafetensorsEntry> entries;
  StringMap metadata;
};

absl::StatusOr<SafetensorsReader> SafetensorsReader::Open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus("opening " + path.string());
  auto file = std::make_shared<File>(path, fd);
  struct stat info;
  if (::fstat(fd, &info) != 0) return ErrnoStatus("reading " + path.string());
  if (!S_ISREG(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path.string(), ": not a regular file"));
  const auto file_bytes = static_cast<std::uint64_t>(info.st_size);

  std::uint64_t header_bytes = 0;
  if (file_bytes < sizeof header_bytes)
    return Damaged(path, absl::StrCat("only ", file_bytes, " bytes long"));
  RETURN_IF_ERROR(ReadAt(fd, 0, &header_bytes, sizeof header_bytes, path));
  if (header_bytes > file_bytes - sizeof header_bytes) {
    return Damaged(path, absl::StrCat("it announces a header of ", header_bytes, " bytes, but has only ",
                                      file_bytes - sizeof header_bytes, " after the length"));
  }
  if (header_bytes > kMaxHeaderBytes) {
    return Damaged(
        path, absl::StrCat("a header of ", header_bytes, " bytes is over the limit of ", kMaxHeaderBytes));
  }
  std::string text(header_bytes, '\0');
  RETURN_IF_ERROR(ReadAt(fd, sizeof header_bytes, text.data(), header_bytes, path));
  ASSIGN_OR_RETURN(const nlohmann::json header, ParseHeader(text, path));

  file->data_start = sizeof header_bytes + header_bytes;
  const std::uint64_t data_bytes = file_bytes - file->data_start;
  for (const auto& [name, value] : header.items()) {
    if (name == kMetadataKey) {
      ASSIGN_OR_RETURN(file->metadata, ParseMetadata(value, path));
      continue;
    }
    ASSIGN_OR_RETURN(file->entries[name], ParseEntry(name, value, data_bytes, path));
  }
  RETURN_IF_ERROR(CheckCoverage(file->entries, data_bytes, path));
  SafetensorsReader reader;
  reader.file_ = std::move(file);
  return reader;
}

const std::map<std::string, SafetensorsEntry>& SafetensorsReader::entries() const { return file_->entries; }

const StringMap& SafetensorsReader::metadata() const { return file_->metadata; }

absl::StatusOr<at::Tensor> SafetensorsReader::Load(const std::string& name) const {
  const auto found = file_->entries.find(name);
  if (found == file_->entries.end()) {
    return absl::NotFoundError(absl::StrCat(file_->path.string(), ": no tensor \"", name, "\""));
  }
  const SafetensorsEntry& entry = found->second;
  at::Tensor tensor = at::empty(entry.shape, at::TensorOptions().dtype(entry.dtype));
  RETURN_IF_ERROR(ReadAt(file_->descriptor, file_->data_start + entry.begin, tensor.data_ptr(),
                         entry.end - entry.begin, file_->path));
  if (entry.dtype == at::kBool) {
    const auto* bytes = static_cast<const unsigned char*>(tensor.data_ptr());
    if (std::any_of(bytes, bytes + (entry.end - entry.begin), [](unsigned char byte) { return byte > 1; })) {
      return Damaged(file_->path, name, "a BOOL that is neither 0 nor 1");
    }
  }
  return tensor;
}

absl::StatusOr<at::Tensor> SafetensorsReader::LoadWeight(const std::string& name) const {
  ASSIGN_OR_RETURN(at::Tensor tensor, Load(name));
  const auto bad = tensor.isfinite().logical_not().sum().item<std::int64_t>();
  if (bad == 0) return tensor;
  return absl::InvalidArgumentError(absl::StrCat(
      file_->path.string(), ": the tensor ", name, " holds ", bad, " of ", tensor.numel(),
      " values that are not finite: its training diverged or the file is damaged; use an earlier "
      "checkpoint of it"));
}

absl::StatusOr<TensorMap> SafetensorsReader::LoadAll() const {
  TensorMap tensors;
  for (const auto& [name, entry] : file_->entries) {
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
                             const StringMap& metadata) {
  // Wide items first, so that every tensor is aligned for programs that map the file.
  std::vector<std::pair<const std::string*, const at::Tensor*>> order;
  for (const auto& [name, tensor] : tensors) {
    if (name == kMetadataKey)
      return absl::InvalidArgumentError(absl::StrCat(path.string(), ": no tensor can be called ", name));
    if (!tensor.defined() || NameOf(tensor.scalar_type()) == nullptr) {
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
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : order) {
    const std::uint64_t bytes = tensor->numel() * tensor->element_size();
    header[*name] = {{"dtype", NameOf(tensor->scalar_type())},
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
  const std::uint64_t header_bytes = text.size();
  RETURN_IF_ERROR(file.Append({reinterpret_cast<const char*>(&header_bytes), sizeof header_bytes}));
  RETURN_IF_ERROR(file.Append(text));
  for (const auto& [name, tensor] : order) {
    const at::Tensor bytes = tensor->detach().cpu().contiguous();
    RETURN_IF_ERROR(
        file.Append({static_cast<const char*>(bytes.data_ptr()), bytes.numel() * bytes.element_size()}));
  }
  return file.Commit();
}

}  // namespace inlier
