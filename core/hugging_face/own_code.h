// The Python files with which transformers loads a model with own parts (spec/hugging_face/own_parts.h).
#ifndef INLIER_CORE_HUGGING_FACE_OWN_CODE_H_
#define INLIER_CORE_HUGGING_FACE_OWN_CODE_H_

#include <map>
#include <string>

namespace inlier {

// Name -> content.
const std::map<std::string, std::string>& OwnCode();

}  // namespace inlier

#endif  // INLIER_CORE_HUGGING_FACE_OWN_CODE_H_
