// Reads the keys of one object of a JSON file that others wrote. The first error is kept, with the file and the key's
// path ("tokenizer.json: model.dropout: …"), and values read after it are meaningless.
#ifndef INLIER_CORE_TEXT_ENCODING_JSON_FIELDS_H_
#define INLIER_CORE_TEXT_ENCODING_JSON_FIELDS_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "nlohmann/json.hpp"

namespace inlier {

class JsonFields {
 public:
  // `place`: the file, or the file and the object's path. `value` must outlive it.
  JsonFields(const nlohmann::json& value, std::string place) : value_(value), place_(std::move(place)) {
    if (!value.is_object()) Fail("", "is not an object of keys and values");
  }

  // Null where the key is missing.
  const nlohmann::json& At(const char* key) {
    static const nlohmann::json null;
    known_.insert(key);
    const auto found = value_.is_object() ? value_.find(key) : value_.end();
    return found == value_.end() ? null : *found;
  }
  bool Has(const char* key) { return value_.is_object() && value_.contains(key); }
  // Accepts a key that changes nothing here.
  void Skip(const char* key) { known_.insert(key); }

  bool Flag(const char* key, bool otherwise) {
    const nlohmann::json& found = At(key);
    if (found.is_boolean()) return found.get<bool>();
    if (!found.is_null()) Fail(key, "is neither true nor false");
    return otherwise;
  }
  std::string Text(const char* key, const char* otherwise = nullptr) {
    const nlohmann::json& found = At(key);
    if (found.is_string()) return found.get<std::string>();
    if (!found.is_null()) {
      Fail(key, "is not a text");
    } else if (otherwise == nullptr) {
      Fail(key, "is missing");
    }
    return otherwise == nullptr ? "" : otherwise;
  }
  std::uint32_t Count(const char* key, std::uint32_t max) {
    const nlohmann::json& found = At(key);
    if (found.is_number_unsigned() && found.get<std::uint64_t>() <= max) return found.get<std::uint32_t>();
    Fail(key, absl::StrCat("is not a whole number from 0 to ", max));
    return 0;
  }

  void Fail(std::string_view key, std::string_view what) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(absl::StrCat(PathOf(key), ": ", std::string(what)));
  }
  // Where the key is, for the object below it.
  std::string PathOf(std::string_view key) const {
    if (key.empty()) return place_;
    const bool below_a_key = place_.find(": ") != std::string::npos;
    return absl::StrCat(place_, below_a_key ? "." : ": ", std::string(key));
  }

  const absl::Status& status() const { return status_; }
  // The first error; a key that nothing has asked for is one.
  absl::Status Finish() {
    if (!status_.ok()) return status_;
    for (const auto& [key, value] : value_.items()) {
      if (known_.count(key) == 0)
        Fail(CutUtf8(key, 60), "is not known to inlier, which must follow everything that decides token ids");
    }
    return status_;
  }

 private:
  const nlohmann::json& value_;
  const std::string place_;
  std::set<std::string> known_;
  absl::Status status_;
};

}  // namespace inlier

#endif  // INLIER_CORE_TEXT_ENCODING_JSON_FIELDS_H_
