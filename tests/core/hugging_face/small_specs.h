// Small models as TrialSpecs, for tests of reading and writing Hugging Face folders.
#ifndef INLIER_TESTS_CORE_HUGGING_FACE_SMALL_SPECS_H_
#define INLIER_TESTS_CORE_HUGGING_FACE_SMALL_SPECS_H_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/models/make_model.h"
#include "inlier/v1/trial_spec.pb.h"
#include "spec/trial/architecture.h"

namespace inlier {

// `text` as a TrialSpec; omitted sizes are small.
inline v1::TrialSpec SmallHubSpec(const std::string& text) {
  v1::TrialSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  VisitArchitecture(spec.mutable_model(), [](std::string_view, auto* model) {
    model->set_layers(2);
    model->set_hidden_size(16);
    model->set_heads(4);
    model->set_ffn_size(24);
    if constexpr (requires { model->vocab_size(); }) {
      model->set_vocab_size(31);
      model->set_max_positions(12);
    } else {
      model->set_image_size(8);
      model->set_patch_size(4);
      model->set_channels(3);
      model->set_classes(5);
    }
  });
  return spec;
}

// Five classes, or one number, where sentences are classified.
inline ModelShape SmallHubShape(const v1::TrialSpec& spec) {
  if (!spec.data().has_classification()) return {};
  return {.classes = spec.data().classification().target() == v1::ClassificationDataSpec::NUMBER ? 1 : 5};
}

// Every kind of model that transformers supports.
inline std::vector<std::string> ExportableSpecs() {
  return {"model { bert {} }",
          "model { bert { position: NONE activation: RELU } } dropout: 0.25",
          "model { opt {} } attention { dropout: 0.125 }",
          "model { opt { norm_placement: POST embedding_size: 8 } }",
          "model { gpt2 {} }",
          "model { gpt2 { biases: false tied_head: false position: NONE } }",
          "model { llama { kv_heads: 2 rotary_theta: 500 } } norm: RMS_NORM_M",
          "model { llama { biases: true tied_head: true } } norm: RMS_NORM_S",
          "model { llama { kv_heads: 2 } } norm: RMS_NORM_M embedding_projection: true",
          "model { gpt2 { tied_head: false } } embedding_projection: true",
          "model { llama { head_size: 8 rotary_scaling { llama3 { factor: 4 original_positions: 8 } } } } "
          "norm: RMS_NORM_M",
          "model { llama { rotary_scaling { yarn { factor: 2 original_positions: 8 } } } } norm: RMS_NORM_M",
          "model { llama { kv_heads: 2 qkv_biases: true } } norm: RMS_NORM_M",
          "model { llama { window: 3 } } norm: RMS_NORM_M",
          "model { vit {} }",
          "model { bert {} } data { classification {} } dropout: 0.25",
          "model { bert {} } data { classification { target: NUMBER } }"};
}

}  // namespace inlier

#endif  // INLIER_TESTS_CORE_HUGGING_FACE_SMALL_SPECS_H_
