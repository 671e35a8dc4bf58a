// Optimizers, schedules, clipping and random orthogonal matrices against the reference: 20 updates of a small
// problem by every optimizer, in float64 and float32. The JSON of a case defines it.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/optim/adam.h"
#include "core/optim/gradient_norm.h"
#include "core/optim/lr_schedule.h"
#include "core/optim/muon.h"
#include "core/optim/ortho_adam.h"
#include "core/optim/orthogonal_matrix.h"
#include "core/optim/rmsprop.h"
#include "core/optim/sgd.h"
#include "core/optim/soap.h"
#include "tests/core/support/case_settings.h"
#include "tests/core/support/golden_case.h"

namespace inlier {
namespace {

using nlohmann::json;

// An embedding, a tanh layer, a norm with gains and a linear layer; the loss is the mean squared error.
class Problem {
 public:
  Problem(const GoldenCase& golden, at::ScalarType dtype)
      : indices_(golden.Tensor("input/indices")), targets_(golden.Tensor("input/targets").to(dtype)) {
    for (const std::string& name : golden.KeysUnder("param/"))
      parameters_[name] = golden.Tensor("param/" + name).to(dtype).clone().set_requires_grad(true);
  }

  const std::map<std::string, at::Tensor>& parameters() const { return parameters_; }

  at::Tensor Loss(std::int64_t step) const {
    const at::Tensor in = at::embedding(parameters_.at("emb.weight"), indices_[step]);
    const at::Tensor hidden = at::linear(in, parameters_.at("fc1.weight"), parameters_.at("fc1.bias")).tanh();
    const at::Tensor normed =
        parameters_.at("norm.weight") * hidden / (hidden.square().mean(-1, /*keepdim=*/true) + 1e-5).sqrt();
    return (at::linear(normed, parameters_.at("fc2.weight")) - targets_[step]).square().mean();
  }

 private:
  const at::Tensor indices_, targets_;
  std::map<std::string, at::Tensor> parameters_;
};

// The parameters in `decayed`, or all of them where the decay is a penalty.
ParameterGroups ReadGroups(CaseSettings& method, const Problem& problem) {
  ParameterGroups groups;
  const auto decayed = method.ValueOr("decayed", std::set<std::string>());
  for (const auto& parameter : problem.parameters()) {
    const bool decays = method.ValueOr("weight_decay_l2", 0.0) > 0 || decayed.contains(parameter.first);
    (decays ? groups.decayed : groups.not_decayed).emplace_back(parameter.first, parameter.second);
  }
  return groups;
}

// input/Q/<parameter>/axis0, axis1 or vec.
std::map<std::string, Rotation> ReadRotations(CaseSettings& method, const GoldenCase& golden) {
  std::map<std::string, Rotation> rotations;
  method.Describes({"block"});  // The matrices of blocks are stored whole.
  for (const auto& [name, axes] : method.At("rotated_axes").items()) {
    std::vector<AxisRotation> turned;
    for (const json& axis : axes) {
      const std::string prefix = "input/Q/" + name + "/";
      if (axis == "vec") {
        rotations.emplace(name, Rotation::OfVector(golden.Tensor(prefix + "vec")));
      } else {
        turned.push_back(AxisRotation::Dense(axis, golden.Tensor(prefix + "axis" + axis.dump())));
      }
    }
    if (!turned.empty()) rotations.emplace(name, Rotation(std::move(turned)));
  }
  return rotations;
}

// The matrices that Muon or SOAP updates, and the parameters of AdamW.
std::pair<ParameterGroups, ParameterGroups> ReadMatricesAndOthers(CaseSettings& method,
                                                                  const ParameterGroups& groups) {
  const auto named = method.ValueOr("matrices", std::set<std::string>());
  std::pair<ParameterGroups, ParameterGroups> split;
  const auto sort = [&](const std::vector<NamedParameter>& from,
                        std::vector<NamedParameter> ParameterGroups::*group) {
    for (const NamedParameter& parameter : from) {
      const bool is_matrix = named.empty() ? parameter.second.dim() == 2 : named.contains(parameter.first);
      ((is_matrix ? split.first : split.second).*group).push_back(parameter);
    }
  };
  sort(groups.decayed, &ParameterGroups::decayed);
  sort(groups.not_decayed, &ParameterGroups::not_decayed);
  return split;
}

std::unique_ptr<Optimizer> ReadMatrixOptimizer(CaseSettings& method, const ParameterGroups& groups) {
  const double decay = method.At("weight_decay"), epsilon = method.At("eps");
  const double beta1 = method.At("betas").at(0), beta2 = method.At("betas").at(1);
  const auto [matrices, rest] = ReadMatricesAndOthers(method, groups);
  auto others = std::make_unique<Adam>(rest, Adam::Options{.beta1 = beta1,
                                                           .beta2 = beta2,
                                                           .epsilon = epsilon,
                                                           .weight_decay = decay,
                                                           .decay = Adam::Decay::kDecoupled});
  if (method.At("optimizer") == "Muon") {
    return std::make_unique<Muon>(matrices,
                                  Muon::Options{.momentum = method.At("momentum"),
                                                .nesterov = method.At("nesterov"),
                                                .newton_schulz_steps = method.At("newton_schulz_steps"),
                                                .update_scale = method.At("update_scale"),
                                                .weight_decay = decay},
                                  std::move(others));
  }
  return std::make_unique<Soap>(matrices,
                                Soap::Options{.beta1 = beta1,
                                              .beta2 = beta2,
                                              .shampoo_beta = method.At("shampoo_beta"),
                                              .epsilon = epsilon,
                                              .weight_decay = decay,
                                              .refresh_every = method.At("refresh_every"),
                                              .max_size = method.At("max_size")},
                                std::move(others));
}

std::unique_ptr<Optimizer> ReadOptimizer(CaseSettings& method, const GoldenCase& golden,
                                         const Problem& problem) {
  const std::string kind =
      method.OneOf("optimizer", {"SGD", "RMSprop", "OrthoAdam", "Adam", "AdamW", "Muon", "SOAP"});
  const ParameterGroups groups = ReadGroups(method, problem);
  const double penalty = method.ValueOr("weight_decay_l2", 0.0);
  if (kind == "SGD") {
    method.Require("dampening", 0);
    return std::make_unique<Sgd>(groups, Sgd::Options{.momentum = method.ValueOr("momentum", 0.0),
                                                      .nesterov = method.ValueOr("nesterov", false),
                                                      .weight_decay = penalty});
  }
  const double epsilon = method.At("eps");
  if (kind == "RMSprop") {
    return std::make_unique<RmsProp>(groups, RmsProp::Options{.alpha = method.At("alpha"),
                                                              .epsilon = epsilon,
                                                              .momentum = method.ValueOr("momentum", 0.0),
                                                              .centered = method.ValueOr("centered", false),
                                                              .weight_decay = penalty});
  }
  const double beta1 = method.At("betas").at(0), beta2 = method.At("betas").at(1);
  const double decay = method.ValueOr("weight_decay", 0.0);
  if (kind == "OrthoAdam") {
    return std::make_unique<OrthoAdam>(
        groups, OrthoAdam::Options{.beta1 = beta1, .beta2 = beta2, .epsilon = epsilon, .weight_decay = decay},
        ReadRotations(method, golden));
  }
  if (kind == "Muon" || kind == "SOAP") return ReadMatrixOptimizer(method, groups);
  const bool decoupled = kind == "AdamW";
  method.Require(decoupled ? "weight_decay_l2" : "weight_decay", 0);
  return std::make_unique<Adam>(
      groups, Adam::Options{.beta1 = beta1,
                            .beta2 = beta2,
                            .epsilon = epsilon,
                            .weight_decay = decoupled ? decay : penalty,
                            .decay = decoupled ? Adam::Decay::kDecoupled : Adam::Decay::kPenalty});
}

v1::ScheduleSpec ReadSchedule(CaseSettings& row) {
  v1::ScheduleSpec spec;
  const std::string kind = row.OneOf("kind", {"constant", "constant_with_warmup", "linear",
                                              "linear_final_lr_fraction", "cosine", "cosine_min_lr", "wsd"});
  spec.set_warmup_steps(row.At("warmup"));
  if (kind == "linear") {
    spec.mutable_linear();
  } else if (kind == "linear_final_lr_fraction") {
    spec.mutable_linear()->set_final_fraction(row.At("final_lr_fraction"));
  } else if (kind == "cosine" || kind == "cosine_min_lr") {
    spec.mutable_cosine()->set_final_fraction(
        row.ValueOr("min_lr_rate", row.ValueOr("min_lr_fraction", 0.0)));
  } else if (kind == "wsd") {
    const std::string form = row.OneOf("decay_type", {"linear", "1-sqrt", "cosine"});
    spec.mutable_wsd()->set_form(form == "linear"   ? v1::WsdScheduleSpec::LINEAR
                                 : form == "cosine" ? v1::WsdScheduleSpec::COSINE
                                                    : v1::WsdScheduleSpec::ONE_MINUS_SQRT);
    spec.mutable_wsd()->set_decay_steps(row.At("decay"));
    spec.mutable_wsd()->set_final_fraction(row.ValueOr("min_lr_fraction", 0.0));
  } else {
    spec.mutable_constant();
  }
  return spec;
}

// The settings of a case's `method`; the optimizer null where a key is not read.
struct Method {
  std::unique_ptr<Optimizer> optimizer;
  LrSchedule schedule = {};
  double max_norm = 0;
};

Method ReadMethod(const GoldenCase& golden, const Problem& problem, std::int64_t steps) {
  CaseSettings settings(golden, "method");
  settings.Describes({"note"});
  Method method;
  method.optimizer = ReadOptimizer(settings, golden, problem);
  v1::ScheduleSpec constant;
  constant.mutable_constant();
  method.schedule = MakeLrSchedule(constant, settings.At("lr"), steps);
  bool all_used = true;
  if (settings.Has("schedule")) {
    CaseSettings schedule(golden, "method.schedule", settings.At("schedule"));
    const v1::ScheduleSpec spec = ReadSchedule(schedule);
    method.schedule = MakeLrSchedule(spec, settings.At("lr"), schedule.At("total"));
    all_used = schedule.AllUsed();
  }
  method.max_norm = settings.ValueOr("clip_global_norm", 0.0);
  if (!settings.AllUsed() || !all_used) method.optimizer = nullptr;
  return method;
}

bool TheRestIsUsed(const GoldenCase& golden) {
  CaseSettings config(golden, "config");
  config.Describes({"V", "E", "H1", "OUT", "B", "seed", "steps"});  // The sizes are those of the tensors.
  return All({FileIsUsed(golden, {"config", "method"}), config.AllUsed()});
}

// Runs the case's problem. Its parameters before and after every update are compared with `trajectories`: the
// case's own, or those of the case that it must reproduce.
void CompareTrajectory(const GoldenCase& golden, const GoldenCase& trajectories, at::ScalarType dtype,
                       GoldenReport& report) {
  const json& expected = golden.json.at("expected");
  const json& tolerances = TolerancesOf(golden, dtype);
  const Tolerance of_parameters = {.absolute = tolerances.at("param_abs")};
  const Tolerance of_losses = {.absolute = tolerances.at("loss_abs")};
  const std::int64_t steps = golden.json.at("config").at("steps");
  const Problem problem(golden, dtype);
  const Method method = ReadMethod(golden, problem, steps);
  if (!report.Accepts(golden, method.optimizer != nullptr && TheRestIsUsed(golden))) return;
  std::vector<at::Tensor> handles;
  for (const auto& [name, parameter] : problem.parameters()) handles.push_back(parameter);

  GoldenComparison compare(report, golden, dtype);
  const auto compare_parameters = [&](std::int64_t at) {
    for (const auto& [name, parameter] : problem.parameters()) {
      compare.Tensors(name + " after update " + std::to_string(at), parameter,
                      trajectories.Tensor("traj/" + name)[at], of_parameters);
    }
  };
  compare_parameters(0);
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::string which = " of update " + std::to_string(step);
    const at::Tensor loss = problem.Loss(step);
    loss.backward();
    compare.Number("loss" + which, loss.item<double>(), expected.at("loss_before_each_step").at(step),
                   of_losses);
    const double norm = ClipGradientNorm(handles, method.max_norm).item<double>();
    compare.Number("gradient norm" + which, norm, expected.at("grad_global_norm_before_clipping").at(step),
                   of_parameters);
    const double rate = method.schedule.At(step);
    if (!expected.at("lr_each_step").is_null())
      compare.Number("rate" + which, rate, expected.at("lr_each_step").at(step), {.relative = 1e-12});
    method.optimizer->Step(rate);
    for (at::Tensor& handle : handles) handle.mutable_grad().reset();
    compare_parameters(step + 1);
  }
}

void CompareSchedules(const GoldenCase& golden, GoldenReport& report) {
  if (!report.Accepts(golden, FileIsUsed(golden, {"rows"}))) return;
  GoldenComparison compare(report, golden, at::kDouble);
  const double relative = golden.json.at("tolerances").at("rel");
  for (const json& row : golden.json.at("rows")) {
    CaseSettings settings(golden, "rows", row);
    const v1::ScheduleSpec spec = ReadSchedule(settings);
    const LrSchedule schedule = MakeLrSchedule(spec, settings.At("base_lr"), settings.At("total"));
    settings.Describes({"lr", "stretched_warmup", "stretched_total"});  // Results.
    if (!settings.AllUsed()) continue;
    for (std::size_t k = 0; k < row.at("lr").size(); ++k) {
      const std::string what = row.at("kind").get<std::string>() + " at " + std::to_string(k);
      compare.Number(what, schedule.At(static_cast<std::int64_t>(k)), row.at("lr")[k],
                     {.absolute = 1e-30, .relative = relative});
    }
    if (row.contains("stretched_total")) {
      compare.Number("stretched warmup", static_cast<double>(schedule.warmup), row.at("stretched_warmup"),
                     {});
      compare.Number("stretched total", static_cast<double>(schedule.total), row.at("stretched_total"), {});
    }
  }
}

void CompareClipping(const GoldenCase& golden, at::ScalarType dtype, GoldenReport& report) {
  if (!report.Accepts(golden, FileIsUsed(golden, {"rows", "formula"}))) return;
  GoldenComparison compare(report, golden, dtype);
  const Tolerance tolerance = {
      .absolute = 1e-30,
      .relative = golden.json.at("tolerances").at(dtype == at::kDouble ? "float64_rel" : "float32_rel")};
  for (const json& row : golden.json.at("rows")) {
    CaseSettings settings(golden, "rows", row);
    settings.Describes({"index", "max_norm", "total_norm", "coefficient"});
    if (!settings.AllUsed()) continue;
    const std::string index = row.at("index").dump() + "/";
    std::vector<at::Tensor> parameters;
    const std::vector<std::string> names = golden.KeysUnder("input/" + index);
    for (const std::string& name : names) {
      const at::Tensor gradient = golden.Tensor("input/" + index + name).to(dtype).clone();
      parameters.push_back(at::zeros_like(gradient));
      parameters.back().mutable_grad() = gradient;
    }
    const at::Tensor norm = ClipGradientNorm(parameters, row.at("max_norm"));
    compare.Number("norm " + index, norm.item<double>(), row.at("total_norm"), tolerance);
    for (std::size_t i = 0; i < names.size(); ++i)
      compare.Tensor("out/" + index + names[i], parameters[i].grad(), tolerance);
  }
}

at::Tensor Draw(std::int64_t size, std::uint64_t seed, const std::string& name = "haar_contract") {
  RandomStream stream(seed, name);
  return HaarMatrix(size, stream);
}

double Largest(const at::Tensor& tensor) { return tensor.abs().max().item<double>(); }
double Mean(const at::Tensor& tensor) { return tensor.mean().item<double>(); }

double Kurtosis(const at::Tensor& x) {
  const at::Tensor centered = x - x.mean();
  return Mean(centered.pow(4)) / std::pow(Mean(centered.square()), 2);
}

// The properties of the contract, by their names in it.
const std::map<std::string, std::function<void(const json&, GoldenComparison&)>>& HaarProperties() {
  static const std::map<std::string, std::function<void(const json&, GoldenComparison&)>> properties = {
      {"orthogonality",
       [](const json& property, GoldenComparison& compare) {
         for (const std::int64_t n : {2, 8, 64, 256, 1024}) {
           const at::Tensor q = Draw(n, 1);
           for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) {
             const char* key = dtype == at::kDouble ? "limit_float64_n_le_1024" : "limit_float32_n_le_1024";
             const at::Tensor exact = q.to(dtype).to(at::kDouble), eye = at::eye(n, at::kDouble);
             const double error =
                 std::max(Largest(exact.matmul(exact.t()) - eye), Largest(exact.t().matmul(exact) - eye));
             compare.Number("orthogonality of " + std::to_string(n), error, 0,
                            {.absolute = property.at(key)});
           }
         }
       }},
      {"row norms",
       [](const json& property, GoldenComparison& compare) {
         const at::Tensor q = Draw(256, 2).to(at::kFloat);
         for (const std::int64_t axis : {0, 1}) {
           compare.Number("norms along " + std::to_string(axis), Largest(q.norm(2, axis) - 1), 0,
                          {.absolute = property.at("limit_float32")});
         }
       }},
      {"determinism",
       [](const json&, GoldenComparison& compare) {
         const at::Tensor q = Draw(16, 1);
         compare.Number("the same seed and name", at::equal(q, Draw(16, 1)), 1, {});
         compare.Number("another seed", Largest(q - Draw(16, 2)) > 0.01, 1, {});
         compare.Number("another name", Largest(q - Draw(16, 1, "another")) > 0.01, 1, {});
       }},
      {"no diagonal bias (catches a missing sign fix)",
       [](const json&, GoldenComparison& compare) {
         constexpr int kDraws = 4000;
         double sum = 0;
         for (int i = 0; i < kDraws; ++i) sum += Draw(8, i).trace().item<double>();
         compare.Number("mean trace", sum / kDraws, 0, {.absolute = 5 / std::sqrt(kDraws)});
       }},
      {"second moment of the trace",
       [](const json&, GoldenComparison& compare) {
         constexpr int kDraws = 2000;
         double sum = 0, sum_of_squared = 0;
         for (int i = 0; i < kDraws; ++i) {
           const at::Tensor q = Draw(8, i);
           sum += std::pow(q.trace().item<double>(), 2);
           sum_of_squared += q.matmul(q).trace().item<double>();
         }
         compare.Number("mean squared trace", sum / kDraws, 1, {.absolute = 0.2});
         compare.Number("mean trace of the square", sum_of_squared / kDraws, 1, {.absolute = 0.25});
       }},
      {"both signs of the determinant",
       [](const json&, GoldenComparison& compare) {
         constexpr int kDraws = 2000;
         int negative = 0;
         for (int i = 0; i < kDraws; ++i) negative += at::linalg_det(Draw(8, i)).item<double>() < 0;
         compare.Number("share of negative determinants", 1.0 * negative / kDraws, 0.5, {.absolute = 0.06});
       }},
      {"entry distribution",
       [](const json&, GoldenComparison& compare) {
         constexpr int kSize = 64;
         const at::Tensor q = Draw(kSize, 3);
         compare.Number("second moment of the entries", kSize * Mean(q.square()), 1, {.absolute = 1e-5});
         compare.Number("fourth moment of the entries", Mean(q.pow(4)) * kSize * (kSize + 2) / 3, 1,
                        {.absolute = 0.1});
         compare.Number("mean of the entries", Mean(q), 0, {.absolute = 5 / std::pow(kSize, 1.5)});
       }},
      {"effect on an outlier",
       [](const json&, GoldenComparison& compare) {
         constexpr int kSize = 256;
         at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(4);
         at::Tensor x = at::empty({kSize}, at::kDouble).normal_(0, 1, generator);
         x[17] += kSize;
         const at::Tensor y = Draw(kSize, 5).matmul(x);
         compare.Number("kurtosis before", Kurtosis(x), kSize - 4, {.absolute = 10});
         compare.Number("kurtosis after", Kurtosis(y), 3, {.absolute = 1.5});
         compare.Number("norm", y.norm().item<double>(), x.norm().item<double>(), {.relative = 1e-5});
       }},
  };
  return properties;
}

void CompareHaarContract(const GoldenCase& golden, GoldenReport& report) {
  if (!report.Accepts(
          golden, FileIsUsed(golden, {"contract", "definition", "theory_exact_for_haar",
                                      "simulated_with_sign_fix", "simulated_without_sign_fix_for_contrast"})))
    return;
  GoldenComparison compare(report, golden, at::kDouble);
  for (const json& property : golden.json.at("contract")) {
    const auto check = HaarProperties().find(property.at("property"));
    if (check == HaarProperties().end()) {
      ADD_FAILURE() << golden.name << ": no test is known for the property " << property.at("property");
    } else {
      check->second(property, compare);
    }
  }
}

TEST(OptimGoldenTest, UpdatesSchedulesAndMatricesAreThoseOfTheReference) {
  at::set_num_threads(1);  // Thousands of tiny decompositions: threads would only wait for each other.
  GoldenReport report("optim");
  for (const GoldenCase& golden : FindGoldenCases("optim")) {
    const json& rows = golden.json.value("rows", json::array({json::object()}));
    if (golden.json.contains("method")) {
      for (const at::ScalarType dtype : {at::kDouble, at::kFloat})
        CompareTrajectory(golden, golden, dtype, report);
    } else if (rows.at(0).contains("lr")) {
      CompareSchedules(golden, report);
    } else if (rows.at(0).contains("max_norm")) {
      for (const at::ScalarType dtype : {at::kDouble, at::kFloat}) CompareClipping(golden, dtype, report);
    } else if (golden.json.contains("contract")) {
      CompareHaarContract(golden, report);
    } else {
      ADD_FAILURE() << "optim/" << golden.name << ": no comparison is known for this case";
    }
  }
  report.Finish();
}

// With the identity or a signed permutation for every matrix OrthoAdam is Adam: such cases ("identity_*")
// have the trajectory of the one among them that Adam made.
TEST(OptimGoldenTest, TrivialBasesReproduceAdamsTrajectory) {
  GoldenReport report("optim");
  std::vector<GoldenCase> cases;
  for (GoldenCase& golden : FindGoldenCases("optim"))
    if (golden.name.starts_with("identity_")) cases.push_back(std::move(golden));
  if (cases.size() < 2 && std::getenv("INLIER_GOLDEN_DIR") != nullptr)
    GTEST_SKIP() << "no two identity cases in " << GoldenRoot();  // Another folder need not have them.
  ASSERT_GE(cases.size(), 2u) << "no identity case in " << GoldenRoot();
  for (const GoldenCase& reference : cases) {
    if (reference.json.at("method").at("optimizer") != "Adam") continue;
    for (const GoldenCase& golden : cases) CompareTrajectory(golden, reference, at::kDouble, report);
  }
  report.Finish();
}

}  // namespace
}  // namespace inlier
