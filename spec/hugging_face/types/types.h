// The model types that are read, each in a file of its own; model_types.cc lists them.
#ifndef INLIER_SPEC_HUGGING_FACE_TYPES_TYPES_H_
#define INLIER_SPEC_HUGGING_FACE_TYPES_TYPES_H_

#include "spec/hugging_face/config_keys.h"
#include "spec/hugging_face/config_reader.h"

namespace inlier {

extern const ModelType kBertType;
extern const ModelType kRobertaType;
extern const ModelType kDistilBertType;
extern const ModelType kOptType;
extern const ModelType kGpt2Type;
extern const ModelType kGptNeoxType;
extern const ModelType kLlamaType;
extern const ModelType kMistralType;
extern const ModelType kQwen2Type;
extern const ModelType kQwen3Type;
extern const ModelType kGemma2Type;
extern const ModelType kStableLmType;
extern const ModelType kVitType;
extern const ModelType kDeitType;

}  // namespace inlier

#endif  // INLIER_SPEC_HUGGING_FACE_TYPES_TYPES_H_
