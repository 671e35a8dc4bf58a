// The settings that a golden case gives, as a JSON object, of which every key must be used: a key that no test
// reads fails the test by the names of the case and the key, for a comparison that ignores a setting means nothing.
//
//   CaseSettings settings(golden, "quantization");
//   options.bits = settings.At("weight_bits");
//   settings.Require("dampening", 0);     // No other value is supported.
//   settings.Describes({"note"});
//   if (!settings.AllUsed()) return;      // Before the comparison, which would fail in other words.
//
// Thread safety: none.
#ifndef INLIER_TESTS_CORE_SUPPORT_CASE_SETTINGS_H_
#define INLIER_TESTS_CORE_SUPPORT_CASE_SETTINGS_H_

#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace inlier {

class CaseSettings {
 public:
  // An object in the file of `case_name`, "<group>/<name>", with its path there, for example "method.schedule".
  CaseSettings(const std::string& case_name, const std::string& path, const nlohmann::json& object);
  template <typename Case>  // GoldenCase
  CaseSettings(const Case& golden, const std::string& path, const nlohmann::json& object)
      : CaseSettings(golden.group + "/" + golden.name, path, object) {}
  // The object `name` of the case's file; the whole file where `name` is empty.
  template <typename Case>
  CaseSettings(const Case& golden, const std::string& name)
      : CaseSettings(golden, name,
                     name.empty() ? golden.json : golden.json.value(name, nlohmann::json::object())) {}
  // Fails the test where AllUsed() has not been asked.
  ~CaseSettings();
  CaseSettings(const CaseSettings&) = delete;
  CaseSettings& operator=(const CaseSettings&) = delete;

  // True when the key is there and not null. The key counts as used.
  bool Has(const std::string& key);
  // The value of the key, null where it is missing, which fails the test.
  const nlohmann::json& At(const std::string& key);
  template <typename T>
  T ValueOr(const std::string& key, T otherwise) {
    return Has(key) ? object_.at(key).get<T>() : otherwise;
  }

  // The value of the key, which fails the test when it is not one of those that are supported.
  const nlohmann::json& OneOf(const std::string& key, const std::vector<std::string>& supported);
  // Fails the test when the key is there with any value but this one, or null.
  void Require(const std::string& key, const nlohmann::json& value);
  // Keys that describe the case or hold its results, and set nothing.
  void Describes(std::initializer_list<const char*> keys);
  // The keys that every file may have: its names, its results, its tolerances, who wrote it; and where there is a
  // `spec`, that and the generator's own words for it.
  void DescribesTheFile();

  // False, and the test fails by the name of each key that is not used, or has a value that is not supported.
  bool AllUsed();

 private:
  std::string PathOf(const std::string& key) const;

  const std::string case_name_;
  const std::string path_;
  const nlohmann::json object_;
  std::set<std::string> used_;
  bool supported_ = true;
  bool asked_ = false;
};

// True when the file of a case has no key but those that every file may have and `described`.
template <typename Case>
bool FileIsUsed(const Case& golden, std::initializer_list<const char*> described = {}) {
  CaseSettings file(golden, "");
  file.DescribesTheFile();
  file.Describes(described);
  return file.AllUsed();
}

// All of them. Unlike &&, it asks each one, so that each key that is not used is named.
inline bool All(std::initializer_list<bool> answers) {
  bool all = true;
  for (const bool answer : answers) all = all && answer;
  return all;
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_SUPPORT_CASE_SETTINGS_H_
