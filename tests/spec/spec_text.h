// Specs for tests, written as people write them.
#ifndef INLIER_TESTS_SPEC_SPEC_TEXT_H_
#define INLIER_TESTS_SPEC_SPEC_TEXT_H_

#include <string>

#include "gtest/gtest.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/schema/yaml_reader.h"

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
  const absl::StatusOr<v1::TrialSpec> spec = ReadYaml<v1::TrialSpec>(yaml, "trial.yaml");
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.ok() ? *spec : v1::TrialSpec();
}

// The error of reading a TrialSpec from `yaml`, or "OK".
inline std::string TrialError(const std::string& yaml) {
  const absl::StatusOr<v1::TrialSpec> spec = ReadYaml<v1::TrialSpec>(yaml, "f.yaml");
  return spec.ok() ? "OK" : std::string(spec.status().message());
}

}  // namespace inlier

#endif  // INLIER_TESTS_SPEC_SPEC_TEXT_H_
