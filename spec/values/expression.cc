#include "spec/values/expression.h"

#include <muParser.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/utf8.h"
#include "spec/values/portable_math.h"

namespace inlier {
namespace {

constexpr char kNameCharacters[] = "0123456789_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr char kOperators[] = "+-*/^";

double Add(double a, double b) { return a + b; }
double Subtract(double a, double b) { return a - b; }
double Multiply(double a, double b) { return a * b; }
double Divide(double a, double b) { return a / b; }
double Negative(double a) { return -a; }
double Same(double a) { return a; }
double Round(double a) { return std::round(a); }
double Floor(double a) { return std::floor(a); }
double Ceil(double a) { return std::ceil(a); }
double Sqrt(double a) { return std::sqrt(a); }
double Min(const double* values, int count) { return *std::min_element(values, values + count); }
double Max(const double* values, int count) { return *std::max_element(values, values + count); }

std::unique_ptr<mu::Parser> NewParser() {
  auto parser = std::make_unique<mu::Parser>();
  parser->ClearFun();
  parser->ClearConst();
  parser->ClearInfixOprt();
  parser->EnableBuiltInOprt(false);
  parser->DefineNameChars(kNameCharacters);
  parser->DefineOprtChars(kOperators);
  parser->DefineInfixOprtChars("+-");
  parser->DefineOprt("+", Add, mu::prADD_SUB, mu::oaLEFT, true);
  parser->DefineOprt("-", Subtract, mu::prADD_SUB, mu::oaLEFT, true);
  parser->DefineOprt("*", Multiply, mu::prMUL_DIV, mu::oaLEFT, true);
  parser->DefineOprt("/", Divide, mu::prMUL_DIV, mu::oaLEFT, true);
  parser->DefineOprt("^", PortablePower, mu::prPOW, mu::oaRIGHT, true);
  parser->DefineInfixOprt("-", Negative);
  parser->DefineInfixOprt("+", Same);
  parser->DefineFun("min", Min);
  parser->DefineFun("max", Max);
  parser->DefineFun("round", Round);
  parser->DefineFun("floor", Floor);
  parser->DefineFun("ceil", Ceil);
  parser->DefineFun("sqrt", Sqrt);
  parser->DefineFun("log", PortableLog);
  parser->DefineFun("exp", PortableExp);
  return parser;
}

}  // namespace

Expression::Expression(const std::string& text) : text_(text), parser_(NewParser()) {}
Expression::~Expression() = default;

void Expression::Compile() {
  parser_->SetExpr(text_);
  for (const auto& [name, variable] : parser_->GetUsedVar()) names_.push_back(name);
  for (const std::string& name : names_) parser_->DefineVar(name, &variables_.emplace_back(1));
  parser_->Eval();
}

absl::StatusOr<std::unique_ptr<const Expression>> Expression::Parse(const std::string& text) {
  static constexpr char kForm[] =
      "; write numbers and fields with + - * / ^, parentheses, min, max, round, floor, ceil, sqrt, log, exp, "
      "such as "
      "4 * model.bert.hidden_size";
  const std::string known = absl::StrCat(kNameCharacters, kOperators, "(), ");
  if (const std::size_t at = text.find_first_not_of(known); at != std::string::npos)
    return absl::InvalidArgumentError(absl::StrCat("byte ", at + 1, " is not part of an expression", kForm));
  std::unique_ptr<Expression> expression(new Expression(text));
  try {
    expression->Compile();
    if (expression->parser_->GetNumResults() != 1)
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(text), " has a comma outside of min and max", kForm));
  } catch (const mu::ParserError& error) {
    std::string problem = error.GetMsg();
    if (problem.ends_with('.')) problem.pop_back();
    return absl::InvalidArgumentError(absl::StrCat(Quoted(text), " is not an expression: ", problem, kForm));
  }
  return expression;
}

double Expression::Value(const std::vector<double>& values) const {
  INLIER_CHECK(values.size() == variables_.size());
  const std::lock_guard lock(mutex_);
  std::copy(values.begin(), values.end(), variables_.begin());
  return parser_->Eval();
}

}  // namespace inlier
