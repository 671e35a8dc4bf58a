// One config.json and the keys that have been read. Errors begin with the key.
#ifndef INLIER_SPEC_HUGGING_FACE_CONFIG_READER_H_
#define INLIER_SPEC_HUGGING_FACE_CONFIG_READER_H_

#include <functional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "inlier/v1/trial_spec.pb.h"
#include "nlohmann/json_fwd.hpp"
#include "spec/hugging_face/config_keys.h"

namespace inlier {

// "key: what".
absl::Status RefuseKey(const std::string& key, const std::string& what);

class ConfigReader {
 public:
  // REQUIRES: all outlive the reader; `config` is an object.
  ConfigReader(const nlohmann::json& config, const ModelType& type, v1::TrialSpec* spec)
      : config_(config), type_(type), spec_(spec) {}

  // Reads the keys of the type's table into the fields.
  absl::Status ReadFields();

  // Refuses keys with another value than the supported one.
  absl::Status CheckFixed(bool other_head);

  // The value, whose key counts as read; null where there is none.
  const nlohmann::json* Find(const char* key);
  // The same, and null for a JSON null.
  const nlohmann::json* FindValue(const char* key);

  // Other keys must change nothing, or be of a version whose classes do not read them either.
  absl::Status CheckOthers();

 private:
  absl::Status ReadField(const FieldKey& key);
  absl::Status Set(const char* key, const char* field, const std::string& text);

  const nlohmann::json& config_;
  const ModelType& type_;
  v1::TrialSpec* spec_;
  std::set<std::string, std::less<>> seen_;
};

}  // namespace inlier

#endif  // INLIER_SPEC_HUGGING_FACE_CONFIG_READER_H_
