#include "core/io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace inlier {
namespace {

constexpr std::size_t kTensorsMax = std::size_t{1} << 20;
constexpr std::size_t kAxesMax = 64;
constexpr int kDepthMax = 16;
constexpr auto kInt64Max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

struct DtypeName {
  const char* name;
  c10::ScalarType type;
};
constexpr std::array<DtypeName, 9> kDtypes = {{{"F64", c10::kDouble},
                                               {"F32", c10::kFloat},
                                               {"BF16", c10::kBFloat16},
                                               {"F16", c10::kHalf},
                                               {"I64", c10::kLong},
                                               {"I32", c10::kInt},
                                               {"I8", c10::kChar},
                                               {"U8", c10::kByte},
                                               {"BOOL", c10::kBool}}};

std::optional<c10::ScalarType> TypeOf(const std::string& name) {
  for (const DtypeName& dtype : kDtypes) {
    if (name == dtype.name) return dtype.type;
  }
  return std::nullopt;
}

std::string TensorText(std::uint64_t number, const std::string& what) {
  return absl::StrCat("tensor number ", number, " of its header: ", what);
}

// One tensor's entry while it is read.
struct OpenEntry {
  SafetensorsEntry entry;
  bool has_dtype = false, has_shape = false;
  std::optional<std::vector<std::uint64_t>> offsets;
};

// "" or what is wrong with a complete entry.
std::string Finish(OpenEntry& open, std::uint64_t data_bytes) {
  SafetensorsEntry& entry = open.entry;
  if (!open.has_dtype) return "no dtype";
  if (!open.has_shape) return "no shape";
  std::uint64_t bytes = c10::elementSize(entry.dtype);
  for (const std::int64_t size : entry.shape) {
    const auto n = static_cast<std::uint64_t>(size);
    if (n != 0 && bytes > kInt64Max / n) return "its shape is too large";
    if (n != 0) bytes *= n;
  }
  if (std::find(entry.shape.begin(), entry.shape.end(), 0) != entry.shape.end()) bytes = 0;
  if (!open.offsets || open.offsets->size() != 2) return "data_offsets is not a pair of whole numbers from 0";
  entry.begin = (*open.offsets)[0];
  entry.end = (*open.offsets)[1];
  if (entry.begin > entry.end || entry.end > data_bytes) {
    return absl::StrCat("its bytes lie outside the ", data_bytes, " bytes of data (is the file cut short?)");
  }
  return entry.end - entry.begin == bytes ? "" : "its shape and dtype need more or fewer bytes than it has";
}

// Takes the parser's events. After one returns false, fault() is the reason.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(std::uint64_t data_bytes) : data_bytes_(data_bytes) {}

  SafetensorsHeader& header() { return header_; }
  const std::string& fault() const { return fault_; }

  bool null() override { return OtherValue(); }
  bool boolean(bool) override { return OtherValue(); }
  bool number_integer(number_integer_t) override { return OtherValue(); }  // Below 0.
  bool number_float(number_float_t, const string_t&) override { return OtherValue(); }
  bool binary(binary_t&) override { return OtherValue(); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::kShape && !IsIgnoring()) {
      if (value > kInt64Max) return Fail("a size in its shape is too large");
      if (open_.entry.shape.size() == kAxesMax) return Fail("its shape has too many axes");
      open_.entry.shape.push_back(static_cast<std::int64_t>(value));
      return true;
    }
    if (place_ == Place::kOffsets && !IsIgnoring()) {
      if (open_.offsets->size() == 2) return OtherValue();
      open_.offsets->push_back(value);
      return true;
    }
    return OtherValue();
  }

  bool string(string_t& value) override {
    if (IsIgnoring()) return true;
    if (place_ == Place::kMetadata) {
      header_.metadata[key_] = std::move(value);
      return true;
    }
    if (place_ != Place::kEntry || key_ != "dtype") return OtherValue();
    const std::optional<c10::ScalarType> type = TypeOf(value);
    if (!type) return Fail("its dtype is not one of F64, F32, BF16, F16, I64, I32, U8, BOOL");
    if (std::exchange(open_.has_dtype, true)) return Fail("its dtype is given twice");
    open_.entry.dtype = *type;
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kOutside && depth_ == 0) return Open(Place::kTop);
    if (place_ != Place::kTop) return OpenOther();
    if (key_ == kSafetensorsMetadata) return Open(Place::kMetadata);
    open_ = {};
    open_.entry.number = ++tensors_;
    return Open(Place::kEntry);
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kEntry || IsIgnoring()) return OpenOther();
    if (key_ == "shape") {
      if (std::exchange(open_.has_shape, true)) return Fail("its shape is given twice");
      return Open(Place::kShape);
    }
    if (key_ != "data_offsets") return OpenOther();
    if (open_.offsets) return Fail("its data_offsets are given twice");
    open_.offsets.emplace();
    return Open(Place::kOffsets);
  }

  bool key(string_t& value) override {
    if (IsIgnoring()) return true;
    key_ = std::move(value);
    if (place_ != Place::kTop) return true;
    name_ = key_;
    if (name_ == kSafetensorsMetadata)
      return !std::exchange(has_metadata_, true) || FailWhole("__metadata__ is given twice");
    if (tensors_ == kTensorsMax) return FailWhole(absl::StrCat("it has more than ", kTensorsMax, " tensors"));
    return true;
  }

  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    return FailWhole(absl::StrCat("the header is not JSON from its byte ", position, " on"));
  }

 private:
  enum class Place { kOutside, kTop, kMetadata, kEntry, kShape, kOffsets };

  bool IsIgnoring() const { return ignored_above_ > 0; }

  bool Open(Place place) {
    place_ = place;
    ++depth_;
    return true;
  }

  // A value of a kind that its place does not take; fields of other names are ignored.
  bool OtherValue() {
    if (IsIgnoring()) return true;
    switch (place_) {
      case Place::kOutside:
        return FailWhole("the header is not a JSON object");
      case Place::kTop:
        if (key_ == kSafetensorsMetadata) return FailWhole("__metadata__ is not an object");
        ++tensors_;
        return Fail("its header entry is not an object");
      case Place::kMetadata:
        return FailWhole("a value of its __metadata__ is not a string");
      case Place::kEntry:
        if (key_ == "dtype") return Fail("no dtype");
        if (key_ == "shape") return Fail("no shape");
        return key_ != "data_offsets" || Fail("data_offsets is not a pair of whole numbers from 0");
      case Place::kShape:
        return Fail("a size in its shape is not a whole number from 0");
      case Place::kOffsets:
        return Fail("data_offsets is not a pair of whole numbers from 0");
    }
    return false;
  }

  bool OpenOther() {
    if (!IsIgnoring()) {
      if (!OtherValue()) return false;
      ignored_above_ = depth_;
    }
    return ++depth_ <= kDepthMax || FailWhole(absl::StrCat("it is nested deeper than ", kDepthMax));
  }

  bool Close() {
    --depth_;
    if (IsIgnoring()) {
      if (depth_ == ignored_above_) ignored_above_ = 0;
      return true;
    }
    if (place_ == Place::kShape || place_ == Place::kOffsets) {
      place_ = Place::kEntry;
      return true;
    }
    const Place closed = std::exchange(place_, place_ == Place::kTop ? Place::kOutside : Place::kTop);
    if (closed != Place::kEntry) return true;
    const std::string problem = Finish(open_, data_bytes_);
    if (!problem.empty()) return Fail(problem);
    return header_.entries.try_emplace(std::move(name_), std::move(open_.entry)).second ||
           Fail("its name occurs twice");
  }

  bool Fail(const std::string& what) { return FailWhole(TensorText(tensors_, what)); }
  bool FailWhole(std::string what) {
    fault_ = std::move(what);
    return false;
  }

  const std::uint64_t data_bytes_;
  SafetensorsHeader header_;
  std::string fault_;
  Place place_ = Place::kOutside;
  int depth_ = 0;           // Open objects and arrays.
  int ignored_above_ = 0;   // Depth around the value that is ignored; 0: none is.
  std::string key_, name_;  // The last ones: of any object, of a tensor.
  bool has_metadata_ = false;
  std::uint32_t tensors_ = 0;
  OpenEntry open_;
};

// Every byte of the data belongs to exactly one tensor. "" or the fault.
std::string CoverageFault(const std::map<std::string, SafetensorsEntry>& entries, std::uint64_t data_bytes) {
  std::vector<const SafetensorsEntry*> order;
  order.reserve(entries.size());
  for (const auto& [name, entry] : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const SafetensorsEntry* a, const SafetensorsEntry* b) {
    return std::tuple(a->begin, a->end, a->number) < std::tuple(b->begin, b->end, b->number);
  });
  std::uint64_t next = 0;
  for (const SafetensorsEntry* entry : order) {
    if (entry->begin < next) return TensorText(entry->number, "its bytes overlap another tensor's");
    if (entry->begin > next) return TensorText(entry->number, "bytes before it belong to no tensor");
    next = entry->end;
  }
  return next == data_bytes ? "" : absl::StrCat(data_bytes - next, " bytes at the end belong to no tensor");
}

}  // namespace

const char* SafetensorsName(c10::ScalarType type) {
  for (const DtypeName& dtype : kDtypes) {
    if (type == dtype.type) return dtype.name;
  }
  return nullptr;
}

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view text, std::uint64_t data_bytes) {
  HeaderReader reader(data_bytes);
  if (!nlohmann::json::sax_parse(text, &reader)) return absl::DataLossError(reader.fault());
  const std::string fault = CoverageFault(reader.header().entries, data_bytes);
  if (!fault.empty()) return absl::DataLossError(fault);
  return std::move(reader.header());
}

}  // namespace inlier
