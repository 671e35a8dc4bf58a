#include "core/quant/quantizer_tap.h"

namespace inlier {

std::string QuantizedTensor(const std::string& site, QuantizedPart part) {
  switch (part) {
    case QuantizedPart::kWeight:
      return site + ".weight";
    case QuantizedPart::kInput:
      return site + ".input";
    case QuantizedPart::kKeys:
      return site + ".keys";
    case QuantizedPart::kValues:
      return site + ".values";
    case QuantizedPart::kActivation:
    case QuantizedPart::kOutput:
      return site;
  }
  return site;
}

}  // namespace inlier
