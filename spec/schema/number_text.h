// Numbers as text: one spelling to write, strict rules to read.
//
// Thread safety: pure functions.
#ifndef INLIER_SPEC_SCHEMA_NUMBER_TEXT_H_
#define INLIER_SPEC_SCHEMA_NUMBER_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

namespace inlier {

// The shortest text that reads back as the same double: "-0.03", "1e-5", "2000", "0" (for -0 too). "NaN",
// "Infinity" and "-Infinity" for what is not finite. Also a JSON number when finite.
std::string FormatNumber(double value);

// A finite decimal number: sign, digits, point, exponent; no leading zeros ("08"), hexadecimal, "_" or spaces.
std::optional<double> ParseNumber(std::string_view text);

// Why ParseNumber refused `text`, as the end of a sentence such as "numbers have no leading zeros, write 8".
std::string WhyNotANumber(std::string_view text);

}  // namespace inlier

#endif  // INLIER_SPEC_SCHEMA_NUMBER_TEXT_H_
