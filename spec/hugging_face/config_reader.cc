#include "spec/hugging_face/config_reader.h"

#include <cstdint>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/status.h"
#include "base/utf8.h"
#include "nlohmann/json.hpp"
#include "spec/schema/field_path.h"
#include "spec/schema/number_text.h"

namespace inlier {

using nlohmann::json;

absl::Status RefuseKey(const std::string& key, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": ", what));
}

namespace {

FieldPath PathOf(const char* field) { return FieldPath::Known(v1::TrialSpec::descriptor(), field); }

// Numbers, true, false and null of a file may be shown; texts are not.
std::string Shown(const json& value) {
  return value.is_primitive() && !value.is_string() ? value.dump() : std::string("this value");
}

std::string ActivationOf(const std::string& name) {
  if (name == "gelu" || name == "gelu_python") return "GELU_ERF";
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast" || name == "gelu_accurate")
    return "GELU_TANH";
  if (name == "relu") return "RELU";
  if (name == "silu" || name == "swish") return "SILU";
  return "";
}

// The value in the field's spelling.
absl::StatusOr<std::string> FieldText(const char* key, FieldKey::Kind kind, const json& value) {
  switch (kind) {
    case FieldKey::kSize:
    case FieldKey::kOptionalSize:
      if (!value.is_number_integer() || value.get<std::int64_t>() < 1 ||
          value.get<std::int64_t>() > UINT32_MAX)
        return RefuseKey(key, "is not a size: it must be a whole number of at least 1");
      return absl::StrCat(value.get<std::int64_t>());
    case FieldKey::kNumber:
    case FieldKey::kOptionalNumber:
      if (!value.is_number()) return RefuseKey(key, "is not a number");
      return FormatNumber(value.get<double>());
    case FieldKey::kFlag:
    case FieldKey::kNormFirst: {
      if (!value.is_boolean()) return RefuseKey(key, "is neither true nor false");
      const bool on = value.get<bool>();
      return std::string(kind == FieldKey::kFlag ? (on ? "true" : "false") : (on ? "PRE" : "POST"));
    }
    case FieldKey::kActivation: {
      const std::string activation = value.is_string() ? ActivationOf(value.get<std::string>()) : "";
      if (activation.empty())
        return RefuseKey(key, "is not known: gelu, gelu_new, gelu_pytorch_tanh, relu and silu are");
      return activation;
    }
  }
  return RefuseKey(key, "is not known");
}

}  // namespace

absl::Status ConfigReader::ReadFields() {
  for (const FieldKey& key : type_.fields) RETURN_IF_ERROR(ReadField(key));
  return absl::OkStatus();
}

absl::Status ConfigReader::CheckFixed(bool other_head) {
  for (const auto& keys : {CommonFixedKeys(), type_.fixed}) {
    for (const FixedKey& key : keys) {
      const json* value = Find(key.key);
      if (value == nullptr || (key.of_head && other_head)) continue;
      const json wanted = json::parse(key.value);
      // transformers takes null for false, and for no heads.
      const bool absent = value->is_null() && (wanted.is_object() || wanted == json(false));
      if (*value == wanted || absent) continue;
      return RefuseKey(key.key, absl::StrCat(Shown(*value), " is not supported by inlier's models: only ",
                                             key.value, " is"));
    }
  }
  return absl::OkStatus();
}

const json* ConfigReader::Find(const char* key) {
  seen_.insert(key);
  const auto found = config_.find(key);
  return found == config_.end() ? nullptr : &*found;
}

const json* ConfigReader::FindValue(const char* key) {
  const json* value = Find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

absl::Status ConfigReader::CheckOthers() {
  const json* written_by = Find("transformers_version");
  const std::string version =
      written_by != nullptr && written_by->is_string() ? written_by->get<std::string>() : "";
  const std::vector<std::string> parts = absl::StrSplit(version, '.');
  int major = 0, minor = 0;
  const bool later = parts.size() > 1 && absl::SimpleAtoi(parts[0], &major) &&
                     absl::SimpleAtoi(parts[1], &minor) &&
                     (major > kKnownMajor || (major == kKnownMajor && minor > kKnownMinor));
  if (!later) return absl::OkStatus();
  for (const auto& [key, value] : config_.items()) {
    if (seen_.count(key) > 0 || ChangesNothing(key)) continue;
    return RefuseKey(
        std::string(Quoted(key)),
        absl::StrCat("is not known, and transformers ", major, ".", minor,
                     ", which wrote the file, may give it a meaning; remove the key if the model is "
                     "the same without it"));
  }
  return absl::OkStatus();
}

absl::Status ConfigReader::ReadField(const FieldKey& key) {
  const json* value = Find(key.key);
  const char* name = key.key;
  if (const json* other = *key.alias == '\0' ? nullptr : Find(key.alias); other != nullptr) {
    if (value != nullptr && *value != *other)
      return RefuseKey(key.alias, absl::StrCat("differs from ", key.key));
    value = other;
    name = key.alias;
  }
  const bool optional = key.kind == FieldKey::kOptionalSize || key.kind == FieldKey::kOptionalNumber;
  if (optional && (value == nullptr ? *key.otherwise == '\0' : value->is_null())) return absl::OkStatus();
  const bool may_be_null = *key.same_as != '\0' || !absl::StartsWith(key.field, "model.");  // A dropout.
  if (value != nullptr && (!value->is_null() || !may_be_null)) {
    ASSIGN_OR_RETURN(const std::string text, FieldText(name, key.kind, *value));
    return Set(name, key.field, text);
  }
  const bool is_default = value == nullptr && *key.otherwise != '\0';
  if (*key.same_as != '\0' && !is_default) {
    const std::string text = PathOf(key.same_as).GetText(*spec_);
    std::uint64_t size = 0;
    INLIER_CHECK(absl::SimpleAtoi(text, &size));
    return Set(name, key.field, absl::StrCat(size * key.times));
  }
  if (*key.otherwise == '\0') return RefuseKey(name, "is missing: this is not a whole config.json");
  return Set(name, key.field, key.otherwise);
}

absl::Status ConfigReader::Set(const char* key, const char* field, const std::string& text) {
  const absl::Status set = PathOf(field).SetText(text, spec_);
  return set.ok() ? set : RefuseKey(key, std::string(set.message()));
}

}  // namespace inlier
