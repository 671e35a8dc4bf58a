// A quantized OPT with rotations against the model of the paper: the mean of LayerNorm, its gain and the matrices folded into the
// weights, a rotated residual stream, a norm without gain, and plain rounding of what the linears read. Written out here step by
// step, as Ashkboos et al. 2024 (QuaRot) and SliceGPT (section 3.2) describe it.
#include <ATen/Functions.h>

#include <string>

#include "core/quant/linear/linear_rotation.h"
#include "core/quant/part_grid.h"
#include "tests/core/quant/tiny_decoder.h"

namespace inlier {
namespace {

constexpr int kHeads = 4;

class FoldedOpt {
 public:
  // `bits` of weights and inputs; 0: float.
  FoldedOpt(Model& model, std::uint32_t seed, int bits) : bits_(bits) {
    for (const auto& parameter : model.named_parameters()) values_[parameter.key()] = parameter.value();
    width_ = Value("model.decoder.embed_tokens.weight").size(1);
    q_ = RotationMatrix(seed, "residual", width_);
    context_ = RotationMatrix(seed, "ffn", width_);
    inner_ = RotationMatrix(seed, "ffn", Value("model.decoder.layers.0.fc1.weight").size(0));
  }

  at::Tensor Logits(const at::Tensor& ids) {
    const at::Tensor table = Value("model.decoder.embed_tokens.weight");
    const at::Tensor positions = Value("model.decoder.embed_positions.weight").slice(0, 2, 2 + ids.size(1));
    at::Tensor stream = Written(at::embedding(table, ids) + positions);
    for (const std::string layer : {"model.decoder.layers.0.", "model.decoder.layers.1."}) {
      stream = stream + Attention(stream, layer);
      const at::Tensor inner = Read(stream, layer + "final_layer_norm", layer + "fc1").relu();
      stream = stream + Write(inner, inner_, layer + "fc2");
    }
    const std::string norm = "model.decoder.final_layer_norm.";
    return at::matmul(at::matmul(Normed(stream), q_.t()) * Value(norm + "weight") + Value(norm + "bias"),
                      table.t());
  }

 private:
  const at::Tensor& Value(const std::string& name) const { return values_.at(name); }

  at::Tensor Rounded(const at::Tensor& x) const {
    if (bits_ == 0) return x;
    const LinearQuantizationOptions::Part part{.bits = bits_, .scope = ScaleScope::kRow};
    return RoundToPart(x, GridOfPart(x, part, LinearQuantizationOptions::Grid::kAbsmax));
  }
  // What joins the stream, (…, d): without mean, rotated.
  at::Tensor Written(const at::Tensor& y) const { return at::matmul(y - y.mean(-1, true), q_); }
  // The paper's is an RMSNorm, for nothing that it reads has a mean: but for the errors of rounded weights, which LayerNorm takes
  // out here as it does in the model that is measured.
  at::Tensor Normed(const at::Tensor& stream) const {
    const at::Tensor direction = at::matmul(at::ones({width_}, at::kDouble) / std::sqrt(width_), q_);
    const at::Tensor centred = stream - at::matmul(stream, direction).unsqueeze(-1) * direction;
    return centred / (centred.square().mean(-1, true) + 1e-5).sqrt();
  }
  at::Tensor Read(const at::Tensor& stream, const std::string& norm, const std::string& linear) const {
    const at::Tensor weight = Value(linear + ".weight");
    const at::Tensor folded = at::matmul(weight * Value(norm + ".weight"), q_);
    const at::Tensor bias = Value(linear + ".bias") + at::matmul(weight, Value(norm + ".bias"));
    return at::matmul(Rounded(Normed(stream)), Rounded(folded).t()) + bias;
  }
  at::Tensor Write(const at::Tensor& x, const at::Tensor& rotation, const std::string& linear) const {
    const at::Tensor folded = Written(at::matmul(Value(linear + ".weight"), rotation).t()).t();
    return at::matmul(Rounded(at::matmul(x, rotation)), Rounded(folded).t()) +
           Written(Value(linear + ".bias"));
  }
  at::Tensor Attention(const at::Tensor& stream, const std::string& layer) const {
    const std::string norm = layer + "self_attn_layer_norm", scope = layer + "self_attn.";
    const auto heads = [&](const char* name) {
      return Read(stream, norm, scope + name).unflatten(-1, {kHeads, width_ / kHeads}).transpose(1, 2);
    };
    const at::Tensor scores =
        at::matmul(heads("q_proj"), heads("k_proj").transpose(2, 3)) / std::sqrt(width_ / kHeads);
    const at::Tensor hidden = at::ones({stream.size(1), stream.size(1)}, at::kBool).triu(1);
    const at::Tensor context = at::matmul(scores.masked_fill(hidden, -INFINITY).softmax(-1), heads("v_proj"));
    return Write(context.transpose(1, 2).flatten(2), context_, scope + "out_proj");
  }

  const int bits_;
  std::int64_t width_ = 0;
  std::map<std::string, at::Tensor> values_;
  at::Tensor q_, context_, inner_;
};

TEST(RotatedOptTest, IsTheFoldedModelOfThePaper) {
  const torch::NoGradGuard no_grad;
  const v1::TrialSpec spec = TrialOf(kOptSizes);
  const std::shared_ptr<Model> model = MakeTinyModel(spec);
  const ModelInput input = RandomTokens(7);
  const at::Tensor exact = model->Logits(input);
  EXPECT_LT((FoldedOpt(*model, 5, 0).Logits(input.ids) - exact).abs().max().item<double>(), 1e-9);
  for (const int bits : {4, 8}) {
    const std::string text = "{ bits: " + std::to_string(bits) + " } ";
    const auto tap = CalibratedOn(
        *model, spec, "weights " + text + "activations " + text + "absmax {} rotation { seed: 5 }");
    const at::Tensor rotated = model->Logits(input, tap.get());
    EXPECT_LT((FoldedOpt(*model, 5, bits).Logits(input.ids) - rotated).abs().max().item<double>(), 1e-9)
        << bits;
    EXPECT_GT((rotated - exact).abs().max().item<double>(), 1e-3) << bits;
  }
}

}  // namespace
}  // namespace inlier
