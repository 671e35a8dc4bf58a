// Golden cases: numbers written by the reference implementations, to compare with.
//
// A case is <root>/<group>/<name>.json, with <name>.safetensors next to it where it has tensors; root is the
// environment variable INLIER_GOLDEN_DIR, else the folder tests/golden of the sources. A test takes every
// case that it finds:
//
//   TEST(BertGoldenTest, ForwardAndBackwardMatchTheReference) {
//     GoldenReport report("bert");
//     for (const GoldenCase& golden : FindGoldenCases("bert")) {
//       if (report.SkipWhatIsNotSupported(golden)) continue;
//       if (!report.Accepts(golden, FileIsUsed(golden))) continue;  // every key that the case sets is used
//       auto model = ModelOfCase(golden, torch::kFloat64);      // parameters filled in, eval mode
//       GoldenComparison compare(report, golden, torch::kFloat64);
//       compare.Tensor("out/logits", model->Logits(InputOfCase(golden)),
//                      {.absolute = 1e-9, .per_magnitude = true});
//     }                   // ~GoldenComparison prints the case's line
//     report.Finish();    // prints the totals; fails the test when a case failed or none was found
//   }
#ifndef INLIER_TESTS_CORE_SUPPORT_GOLDEN_CASE_H_
#define INLIER_TESTS_CORE_SUPPORT_GOLDEN_CASE_H_

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/io/safetensors.h"
#include "core/models/language_model.h"
#include "inlier/v1/trial_spec.pb.h"
#include "nlohmann/json.hpp"

namespace inlier {

struct GoldenCase {
  std::string group;
  std::string name;
  nlohmann::json json;
  TensorMap tensors;  // As stored; empty when the case has no tensor file.
  std::optional<v1::TrialSpec>
      spec;  // The block `spec`; empty when the case has none, or needs a field that is known to be missing.
  std::string needs;  // Then: the field, for example "attention.softmax.ncs".

  bool Has(const std::string& key) const { return tensors.count(key) != 0; }
  // REQUIRES: Has(key); fails the test and returns an empty tensor otherwise.
  at::Tensor Tensor(const std::string& key) const;
  // The keys that start with `prefix`, for example "grad/", with the prefix taken off.
  std::vector<std::string> KeysUnder(const std::string& prefix) const;
};

std::filesystem::path GoldenRoot();
// Fields of specifications that this build is known not to have, for example "attention.softmax.ncs".
const std::set<std::string>& MissingFields();
// All cases of a group, by name. A file that cannot be read fails the test with its name, and so does one with a
// field that the schema has not, unless `missing` names it.
std::vector<GoldenCase> FindGoldenCases(const std::string& group,
                                        const std::set<std::string>& missing = MissingFields());

// The case with the spec and the tensors, but for results, of the one of `cases` whose file is `file`, which it refers
// to; `needs` names the missing part. Fails the test where there is no such case.
GoldenCase WithModelOf(GoldenCase golden, const std::vector<GoldenCase>& cases, const std::string& file);

// False, and the test fails by the names of the case and the field, when the case's `spec` sets a field outside
// model, attention, norm, dropout and data.text.sequence_length, which make the model, and `others`, which the test
// reads itself, for example "training.label_smoothing".
bool SpecIsUsed(const GoldenCase& golden, const std::set<std::string>& others = {});

// The case's model in `dtype`, eval mode, param/* filled in; fails the test (and returns null) when a
// parameter is missing, superfluous or of another shape. REQUIRES: golden.spec.
std::shared_ptr<LanguageModel> ModelOfCase(const GoldenCase& golden, at::ScalarType dtype);
// Copies param/<name> into the parameters of the same name. As above.
bool FillParameters(torch::nn::Module& model, const GoldenCase& golden, at::ScalarType dtype);
// ModelInput from the tensors <prefix>input_ids, <prefix>attention_mask, <prefix>token_type_ids, rows [first,
// first + rows) (all when rows < 0).
ModelInput InputOfCase(const GoldenCase& golden, const std::string& prefix = "input/", std::int64_t first = 0,
                       std::int64_t rows = -1);
// <prefix>labels, the same rows.
at::Tensor LabelsOfCase(const GoldenCase& golden, const std::string& prefix = "input/",
                        std::int64_t first = 0, std::int64_t rows = -1);

// |actual - expected| <= absolute * (per_magnitude ? max(1, max|expected|) : 1) + relative * |expected|,
// element by element.
struct Tolerance {
  double absolute = 0;
  double relative = 0;
  bool per_magnitude = false;
};

// max|actual - expected| / max(max|expected|, 0.01) <= bound: the "relmax" of the Hugging Face cases.
Tolerance RelativeToLargest(double bound, const at::Tensor& expected);

// The bounds of a case in one precision, float64 or float32.
inline const nlohmann::json& TolerancesOf(const GoldenCase& golden, at::ScalarType precision) {
  return golden.json.at("tolerances").at(precision == at::kDouble ? "float64" : "float32");
}

// The name of a test in one precision.
inline std::string PrecisionName(const testing::TestParamInfo<at::ScalarType>& info) {
  return info.param == at::kDouble ? "Double" : "Float";
}

// Counts of one test over one group.
class GoldenReport {
 public:
  explicit GoldenReport(std::string group);
  // True, with a line "needs <field>", for a case with a field that is known to be missing. Counted, and named in the
  // totals.
  bool SkipWhatIsNotSupported(const GoldenCase& golden);
  // True when `settings_are_used` (tests/core/support/case_settings.h); else the case counts as failed, with a line.
  bool Accepts(const GoldenCase& golden, bool settings_are_used);
  // Prints "group: N passed, N failed, N need other parts"; fails the test when one failed or nothing was
  // compared.
  void Finish();

 private:
  friend class GoldenComparison;
  std::string group_;
  int passed_ = 0;
  int failed_ = 0;
  int skipped_ = 0;
};

// All comparisons of one case in one precision. Prints one line at its end:
// group, case, precision, largest error in units of its tolerance (and where), verdict.
class GoldenComparison {
 public:
  GoldenComparison(GoldenReport& report, const GoldenCase& golden, at::ScalarType precision);
  ~GoldenComparison();
  GoldenComparison(const GoldenComparison&) = delete;
  GoldenComparison& operator=(const GoldenComparison&) = delete;

  // `actual` against the stored tensor `key` (any shape with as many elements), computed in float64.
  void Tensor(const std::string& key, const at::Tensor& actual, Tolerance tolerance);
  // Against a tensor the caller took from the case (a part of one, for example); `what` is printed.
  void Tensors(const std::string& what, const at::Tensor& actual, const at::Tensor& expected,
               Tolerance tolerance);
  void Number(const std::string& what, double actual, double expected, Tolerance tolerance);
  void Equal(const std::string& what, const std::string& actual, const std::string& expected);

 private:
  void Record(const std::string& what, double ratio, double error, double allowed);

  GoldenReport& report_;
  const GoldenCase& golden_;
  std::string precision_;
  double worst_ratio_ = 0;  // Error / allowed error; above 1 fails.
  double worst_error_ = 0;
  double worst_allowed_ = 0;
  std::string worst_what_;
  int compared_ = 0;
};

// The reference's number of batches for kurtosis: 257 for BERT, 101 for OPT and all others.
inline int ReferenceKurtosisBatches(v1::ModelSpec::ArchitectureCase architecture) {
  return architecture == v1::ModelSpec::kBert ? 257 : 101;
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_SUPPORT_GOLDEN_CASE_H_
