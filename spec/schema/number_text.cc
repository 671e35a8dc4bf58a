#include "spec/schema/number_text.h"

#include <charconv>
#include <cmath>
#include <cstdint>

#include "absl/strings/ascii.h"

namespace inlier {
namespace {

std::size_t SkipDigits(std::string_view text, std::size_t at) {
  while (at < text.size() && absl::ascii_isdigit(text[at])) ++at;
  return at;
}

}  // namespace

std::string FormatNumber(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (value == 0) return "0";
  char buffer[64];
  if (std::abs(value) < 1e15 && value == std::trunc(value)) {
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), static_cast<std::int64_t>(value)).ptr;
    return std::string(buffer, end);
  }
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  std::string text(buffer, end);
  // "1e-05" -> "1e-5", "1e+20" -> "1e20".
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  return text.substr(0, e) + (text[e + 1] == '-' ? "e-" : "e") +
         text.substr(text.find_first_not_of('0', e + 2));
}

std::optional<double> ParseNumber(std::string_view text) {
  std::size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const std::size_t whole = at;
  at = SkipDigits(text, at);
  const std::size_t whole_digits = at - whole;
  if (whole_digits > 1 && text[whole] == '0') return std::nullopt;
  std::size_t fraction_digits = 0;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = ++at;
    at = SkipDigits(text, at);
    fraction_digits = at - fraction;
  }
  if (whole_digits + fraction_digits == 0) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const std::size_t exponent = at;
    at = SkipDigits(text, at);
    if (at == exponent) return std::nullopt;
  }
  if (at != text.size()) return std::nullopt;
  if (text[0] == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string WhyNotANumber(std::string_view text) {
  std::string_view digits = text;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) digits.remove_prefix(1);
  if (digits.size() > 1 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'o' || digits[1] == 'b')) {
    return "write the number in decimal";
  }
  std::size_t zeros = 0;
  while (zeros + 1 < digits.size() && digits[zeros] == '0' && absl::ascii_isdigit(digits[zeros + 1])) ++zeros;
  if (zeros > 0) {
    const std::string fixed = (text[0] == '-' ? "-" : "") + std::string(digits.substr(zeros));
    if (ParseNumber(fixed)) return "numbers have no leading zeros, write " + fixed;
  }
  std::string lower = absl::AsciiStrToLower(std::string(digits));
  if (!lower.empty() && lower[0] == '.') lower.erase(0, 1);
  if (lower == "nan" || lower == "inf" || lower == "infinity") return "only finite numbers are allowed";
  std::string plain(text);
  std::erase_if(plain, [](char c) { return c == '_' || c == ','; });
  if (plain != text && ParseNumber(plain)) return "write it without separators, " + plain;
  if (!digits.empty() && absl::ascii_isdigit(digits[0]) &&
      digits.find_first_not_of("0123456789.eE+-") == std::string_view::npos) {
    return "write a number such as 3, 0.03 or 3e-4, not too large for a double";
  }
  return "write a number such as 3, 0.03 or 3e-4";
}

}  // namespace inlier
