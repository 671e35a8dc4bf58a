// Specs for tests, written as people write them.
#ifndef INLIER_TESTS_SPEC_SPEC_TEXT_H_
#define INLIER_TESTS_SPEC_SPEC_TEXT_H_

#include <string>

#include "gtest/gtest.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/yaml_reader.h"
#include "spec/trial/validator.h"

namespace inlier {

inline constexpr char kTinyBert[] =
    "{model: {bert: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: 2000}}";
inline constexpr char kTinyGpt2[] =
    "{model: {gpt2: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: 2000}}";
inline constexpr char kTinyOpt[] =
    "{model: {opt: {preset: tiny}}, data: {text: {corpus: kjv}}, training: {steps: 2000}}";
inline constexpr char kTinyVit[] =
    "{model: {vit: {preset: tiny}}, data: {images: {dataset: fashion-mnist}}, training: {steps: 2000}}";

inline v1::TrialSpec TrialFrom(const std::string& yaml) {
  return ReadYaml<v1::TrialSpec>(yaml, "trial.yaml").value();
}

// The message of `status`, or "OK".
inline std::string MessageOf(const absl::Status& status) {
  return status.ok() ? "OK" : std::string(status.message());
}

// The error of reading a TrialSpec from `yaml`, or "OK".
inline std::string TrialError(const std::string& yaml) {
  return MessageOf(ReadYaml<v1::TrialSpec>(yaml, "f.yaml").status());
}

// The problems of the model of `base` after merging `more`, or "OK".
inline std::string ErrorOfTrial(const std::string& base, const std::string& more) {
  v1::TrialSpec spec = TrialFrom(base);
  spec.MergeFrom(TrialFrom(more));
  return MessageOf(ResolveAndValidate(spec).status());
}

}  // namespace inlier

#endif  // INLIER_TESTS_SPEC_SPEC_TEXT_H_
