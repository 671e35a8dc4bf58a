#include "spec/hugging_face/own_parts.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "spec/trial/architecture.h"
#include "spec/trial/checks/norm_checks.h"
#include "spec/trial/data_kind.h"

namespace inlier {
namespace {

using nlohmann::json;

constexpr char kKey[] = "inlier";

// transformers' names: the class of a model below "Auto", and the configuration's.
struct Names {
  const char* type;
  const char* automatic;
  const char* config;
};
constexpr Names kNames[] = {{"bert", "AutoModelForMaskedLM", "InlierBertConfig"},
                            {"opt", "AutoModelForCausalLM", "InlierOPTConfig"},
                            {"gpt2", "AutoModelForCausalLM", "InlierGPT2Config"},
                            {"llama", "AutoModelForCausalLM", "InlierLlamaConfig"},
                            {"vit", "AutoModelForImageClassification", "InlierViTConfig"}};

bool HasSoftmax(const v1::SoftmaxSpec& softmax) {
  return softmax.kind_case() != v1::SoftmaxSpec::KIND_NOT_SET && !softmax.has_vanilla();
}

// RMSNorm-S of a Llama is exported as a vector of one gain, which its own class reads.
bool HasNorm(const v1::TrialSpec& spec) {
  return spec.model().has_llama() ? spec.norm() == v1::LAYER_NORM : spec.norm() != v1::LAYER_NORM;
}

bool HasQueryKeyNorm(const v1::TrialSpec& spec) { return spec.attention().query_key_norm() != v1::NO_NORM; }

bool HasEpsilon(const v1::TrialSpec& spec) {
  return spec.model().has_opt() && spec.model().opt().norm_epsilon() != 1e-5;
}

// `message` with every default written.
void WriteDefaults(google::protobuf::Message* message) {
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* const field = message->GetDescriptor()->field(i);
    if (!field->has_default_value() || reflection.HasField(*message, field)) continue;
    switch (field->cpp_type()) {
      case google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE:
        reflection.SetDouble(message, field, field->default_value_double());
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_ENUM:
        reflection.SetEnum(message, field, field->default_value_enum());
        break;
      default:
        INLIER_CHECK(false && "a kind of number that no softmax has had: write its default here");
    }
  }
}

// The softmax with every default, and gamma in place of parameters that depend on the training's length.
v1::SoftmaxSpec Explicit(const v1::TrialSpec& spec) {
  v1::SoftmaxSpec softmax = spec.attention().softmax();
  const double length = SequenceLength(spec);
  if (softmax.has_ncs() && softmax.ncs().length() == v1::NcsSpec::CONFIGURED) {
    const v1::NcsSpec ncs = softmax.ncs();
    softmax.mutable_clipped()->set_gamma(length <= 1 ? 0 : (ncs.beta() - ncs.zeta()) / (length - 1));
    softmax.mutable_clipped()->set_zeta(ncs.zeta());
  }
  if (softmax.clipped().has_alpha())
    softmax.mutable_clipped()->set_gamma(-softmax.clipped().alpha() / length);
  if (softmax.has_script()) softmax.mutable_script()->set_file(kSoftmaxScript);
  if (softmax.kind_case() == v1::SoftmaxSpec::KIND_NOT_SET) softmax.mutable_vanilla();
  const auto* const kind =
      softmax.GetReflection()->GetOneofFieldDescriptor(softmax, softmax.GetDescriptor()->oneof_decl(0));
  WriteDefaults(softmax.GetReflection()->MutableMessage(&softmax, kind));
  return softmax;
}

}  // namespace

std::map<std::string, std::string> ScriptFiles(const v1::TrialSpec& spec) {
  std::map<std::string, std::string> files;
  const v1::AttentionSpec& attention = spec.attention();
  if (attention.softmax().has_script()) files[kSoftmaxScript] = attention.softmax().script().file();
  if (attention.gate().has_script()) files[kGateScript] = attention.gate().script().file();
  return files;
}

bool HasOwnParts(const v1::TrialSpec& spec) {
  return HasSoftmax(spec.attention().softmax()) || HasGate(spec.attention().gate()) || HasNorm(spec) ||
         HasQueryKeyNorm(spec) || spec.attention().key_value_bias() || spec.attention().prefix_tokens() > 1 ||
         HasEpsilon(spec) || spec.model().vit().patch_norm() || spec.model().vit().registers() > 0;
}

void AddOwnParts(const v1::TrialSpec& spec, bool quantized, json* config) {
  v1::AttentionSpec attention;
  *attention.mutable_softmax() = Explicit(spec);
  if (HasGate(spec.attention().gate())) *attention.mutable_gate() = spec.attention().gate();
  if (attention.gate().has_script()) attention.mutable_gate()->mutable_script()->set_file(kGateScript);
  if (HasQueryKeyNorm(spec)) attention.set_query_key_norm(spec.attention().query_key_norm());
  if (spec.attention().key_value_bias()) attention.set_key_value_bias(true);
  if (spec.attention().prefix_tokens() > 1) attention.set_prefix_tokens(spec.attention().prefix_tokens());
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  INLIER_CHECK(google::protobuf::util::MessageToJsonString(attention, &text, options).ok());
  json parts = {{"attention", json::parse(text)}, {"quantized", quantized}};
  if (HasNorm(spec) || HasEpsilon(spec)) parts["norm"] = v1::NormKind_Name(spec.norm());
  if (HasEpsilon(spec)) parts["norm_epsilon"] = spec.model().opt().norm_epsilon();
  if (spec.model().vit().patch_norm()) parts["patch_norm"] = true;
  if (spec.model().vit().registers() > 0) parts["registers"] = spec.model().vit().registers();
  (*config)[kKey] = parts;

  const std::string type = (*config)["model_type"];
  const std::string own_class = absl::StrCat("Inlier", (*config)["architectures"][0].get<std::string>());
  for (const Names& names : kNames) {
    if (type != names.type) continue;
    const bool classifies = absl::StrContains(own_class, "ForSequenceClassification");
    (*config)["auto_map"] = {{"AutoConfig", absl::StrCat("configuration_inlier.", names.config)},
                             {classifies ? "AutoModelForSequenceClassification" : names.automatic,
                              absl::StrCat("modeling_inlier.", own_class)}};
  }
  (*config)["model_type"] = absl::StrCat("inlier_", type);
  (*config)["architectures"] = {own_class};
}

absl::Status ReadOwnParts(const json& config, v1::TrialSpec* spec) {
  const auto found = config.find(kKey);
  if (found == config.end()) return absl::OkStatus();
  const auto fail = [](const std::string& key, const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(kKey, key, ": ", what));
  };
  if (!found->is_object() || !found->contains("attention"))
    return fail("", "has no attention; export the model again");
  v1::AttentionSpec attention;
  const auto parsed = google::protobuf::util::JsonStringToMessage(found->at("attention").dump(), &attention);
  if (!parsed.ok()) return fail(".attention", std::string(parsed.message()));
  spec->mutable_attention()->MergeFrom(attention);
  if (const auto norm = found->find("norm"); norm != found->end()) {
    v1::NormKind kind;
    if (!norm->is_string() || !v1::NormKind_Parse(norm->get<std::string>(), &kind) || !IsCommonNorm(kind))
      return fail(".norm", "is not known: LAYER_NORM, RMS_NORM_M and RMS_NORM_S are");
    spec->set_norm(kind);
  }
  if (const auto epsilon = found->find("norm_epsilon"); epsilon != found->end()) {
    if (!epsilon->is_number() || !spec->model().has_opt())
      return fail(".norm_epsilon", "must be a number, of an OPT model");
    spec->mutable_model()->mutable_opt()->set_norm_epsilon(epsilon->get<double>());
  }
  if (found->value("patch_norm", json(false)) == json(true) && spec->model().has_vit())
    spec->mutable_model()->mutable_vit()->set_patch_norm(true);
  if (const auto registers = found->find("registers"); registers != found->end()) {
    if (!registers->is_number_unsigned() || !spec->model().has_vit())
      return fail(".registers", "must be a whole number, of a ViT");
    spec->mutable_model()->mutable_vit()->set_registers(registers->get<std::uint32_t>());
  }
  return absl::OkStatus();
}

}  // namespace inlier
