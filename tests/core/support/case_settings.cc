#include "tests/core/support/case_settings.h"

#include <gtest/gtest.h>

#include <vector>

namespace inlier {
namespace {

using nlohmann::json;

constexpr const char* kDescriptions[] = {"case",
                                         "name",
                                         "group",
                                         "note",
                                         "dtype",
                                         "made_with",
                                         "expected",
                                         "tolerance",
                                         "tolerances",
                                         "float32_run",
                                         "measured_float32_error",
                                         "measured_float32_error_relmax"};
constexpr const char* kModelDescriptions[] = {"spec", "model", "config", "attention", "method", "padding"};

}  // namespace

CaseSettings::CaseSettings(const std::string& case_name, const std::string& path, const json& object)
    : case_name_(case_name), path_(path), object_(object) {}

CaseSettings::~CaseSettings() {
  if (!asked_) AllUsed();
}

std::string CaseSettings::PathOf(const std::string& key) const {
  return case_name_ + ": " + (path_.empty() ? key : path_ + "." + key);
}

bool CaseSettings::Has(const std::string& key) {
  used_.insert(key);
  const auto found = object_.find(key);
  return found != object_.end() && !found->is_null();
}

const json& CaseSettings::At(const std::string& key) {
  static const json null;
  used_.insert(key);
  const auto found = object_.find(key);
  if (found != object_.end()) return *found;
  ADD_FAILURE() << PathOf(key) << " is not given";
  supported_ = false;
  return null;
}

const json& CaseSettings::OneOf(const std::string& key, const std::vector<std::string>& supported) {
  const json& value = At(key);
  for (const std::string& one : supported) {
    if (value == one) return value;
  }
  ADD_FAILURE() << PathOf(key) << " is " << value << ", which no test supports";
  supported_ = false;
  return value;
}

void CaseSettings::Require(const std::string& key, const json& value) {
  if (!Has(key) || object_.at(key) == value) return;
  ADD_FAILURE() << PathOf(key) << " is " << object_.at(key) << ", and no test supports another value than "
                << value;
  supported_ = false;
}

void CaseSettings::Describes(std::initializer_list<const char*> keys) {
  used_.insert(keys.begin(), keys.end());
}

void CaseSettings::DescribesTheFile() {
  used_.insert(std::begin(kDescriptions), std::end(kDescriptions));
  if (object_.contains("spec")) used_.insert(std::begin(kModelDescriptions), std::end(kModelDescriptions));
}

bool CaseSettings::AllUsed() {
  asked_ = true;
  for (const auto& [key, value] : object_.items()) {
    if (used_.contains(key)) continue;
    ADD_FAILURE() << PathOf(key) << " is set to " << value << ", and no test reads it";
    supported_ = false;
  }
  return supported_;
}

}  // namespace inlier
