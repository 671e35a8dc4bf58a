// How transformers' classes store the parameters of models here, where it is not under the same names.
#ifndef INLIER_CORE_HUGGING_FACE_STORED_FORMS_H_
#define INLIER_CORE_HUGGING_FACE_STORED_FORMS_H_

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "inlier/v1/model_spec.pb.h"

namespace inlier {

struct StoredForm {
  std::vector<std::string> tensors;  // Names; none where the parameter is a constant.
  // The parameter from these tensors, which are on the CPU and as wide as they are stored; null: the one tensor as it is.
  std::function<absl::StatusOr<at::Tensor>(const std::vector<at::Tensor>&)> make = nullptr;
};

class StoredForms {
 public:
  // `model_type` as in config.json; empty, or of a class with the names of models here: everything as it is.
  StoredForms(std::string_view model_type, const v1::ModelSpec& model);

  // The first component of the names of a body's tensors, with its dot, which base models are stored without.
  const std::string& body() const { return body_; }

  StoredForm Of(const std::string& parameter) const;

  using Find = StoredForm (*)(const v1::ModelSpec& model, const std::string& parameter);

 private:
  v1::ModelSpec model_;
  std::string body_;
  Find find_ = nullptr;
};

}  // namespace inlier

#endif  // INLIER_CORE_HUGGING_FACE_STORED_FORMS_H_
