// BERT with one or more outputs for a whole sequence: Hugging Face's BertForSequenceClassification.
//
//   pooled = drop(tanh(dense(h_0)));  logits = pooled . W^T + b     h_0: the encoder's output at [CLS]
//
// The pooler and the classifier have no sites: they are float, as the head of BERT is in the reference.
#ifndef INLIER_CORE_MODELS_BERT_CLASSIFIER_H_
#define INLIER_CORE_MODELS_BERT_CLASSIFIER_H_

#include <cstdint>

#include "core/models/bert_encoder.h"
#include "core/models/model.h"

namespace inlier {

// The matrix whose rows are the outputs; in a file its shape gives their number.
inline constexpr char kClassifierWeight[] = "classifier.weight";

class BertClassifier : public Model {
 public:
  // `outputs`: the number of classes, or 1 for a number.
  BertClassifier(const BertOptions& options, std::int64_t outputs);

  std::int64_t pad_id() const override { return kBertPadId; }
  bool can_fuse(layer::Place place) const override { return encoder_.can_fuse(place); }
  std::int64_t outputs() const { return classifier_.weight.size(0); }

  // ids (B, T) -> (B, outputs).
  at::Tensor Logits(const ModelInput& input, ActivationTap* tap = nullptr) override;

  // labels (B) int64: cross-entropy, a label of -100 is skipped. labels (B) of floats: mean squared error of
  // the one output; `label_smoothing` has no effect then.
  at::Tensor Loss(const ModelInput& input, const at::Tensor& labels, ActivationTap* tap = nullptr,
                  double label_smoothing = 0) override;

 private:
  BertEncoder encoder_;
  Linear pooler_;
  Linear classifier_;
};

}  // namespace inlier

#endif  // INLIER_CORE_MODELS_BERT_CLASSIFIER_H_
