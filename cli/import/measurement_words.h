// What a name says: whether it is of a result or of a setting of a run, and which number is better.
//
// Thread safety: pure functions.
#ifndef INLIER_CLI_IMPORT_MEASUREMENT_WORDS_H_
#define INLIER_CLI_IMPORT_MEASUREMENT_WORDS_H_

#include <string_view>

#include "spec/trial/measurements.h"

namespace inlier {

enum class NameKind { kUnknown, kSetting, kResult };

// The final measurement of whole models of inlier that has this name; nullptr: there is none.
const MeasurementInfo* OursOfName(std::string_view name);

// By its words: "val_loss" is a result, "learning_rate" a setting, "loss_weight" unknown.
NameKind KindOfName(std::string_view name);

// Of a result, as inlier's measurement of that name has it, or by its words: loss lower, accuracy higher, others neither.
Better BetterOfName(std::string_view name);

}  // namespace inlier

#endif  // INLIER_CLI_IMPORT_MEASUREMENT_WORDS_H_
