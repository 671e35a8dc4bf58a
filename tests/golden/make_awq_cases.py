#!/usr/bin/env python3
"""Writes awq/: factors, narrowed ranges and rounded weights of AWQ (Lin et al. 2024), by the authors' own code.

    python3 tests/golden/make_awq_cases.py LLM_AWQ      # needs torch, and a clone

LLM_AWQ: github.com/mit-han-lab/llm-awq (d6e797a), whose `auto_scale_block`, `apply_scale`, `auto_clip_layer`, `apply_clip` and `pseudo_quantize_tensor` run in float64.
Its CUDA kernels and transformers are replaced by empty modules. The layer that it sees has the names of a Llama's; its attention and its MLP return what their first
linears give, side by side, so that the error that it compares is that of the linears (core/quant/awq.h) and not that of a whole attention or MLP.
"""
import json
import pathlib
import sys
import types

import torch
from make_attention_cases import write_safetensors
from torch import nn

FOLDER = pathlib.Path(__file__).resolve().parent / "awq"
SETTINGS = [{"bits": 4, "group_size": 32}, {"bits": 3, "group_size": 16}, {"bits": 3, "group_size": 8}, {"bits": 2, "group_size": 8}]
IN, OUT, TOKENS = 32, 64, 96


def stub(name, **members):
    module = sys.modules[name] = types.ModuleType(name)
    for key, value in members.items():
        setattr(module, key, value)


class LlamaDecoderLayer(nn.Module):
    def __init__(self, weights):
        super().__init__()
        for half, names in (("self_attn", ("q_proj", "k_proj", "v_proj", "o_proj")), ("mlp", ("gate_proj", "up_proj", "down_proj"))):
            part = SideBySide()
            for name in names:
                linear = nn.Linear(IN, OUT, bias=False, dtype=torch.float64)
                linear.weight.data = weights[name].double().clone()
                setattr(part, name, linear)
            setattr(self, half, part)
        self.input_layernorm, self.post_attention_layernorm = LlamaRMSNorm(), LlamaRMSNorm()


class SideBySide(nn.Module):
    def forward(self, x):
        return torch.cat([linear(x) for name, linear in self.named_children() if name not in ("o_proj", "down_proj")], -1)


class LlamaRMSNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(IN, dtype=torch.float64))


def reference(clone):
    class Nothing:
        pass

    stub("transformers")
    stub("transformers.models")
    stub("transformers.activations", GELUActivation=Nothing)
    for name, members in {"bloom": {"BloomBlock": Nothing, "BloomGelu": Nothing}, "opt": {"OPTDecoderLayer": Nothing}, "qwen2": {"Qwen2RMSNorm": Nothing, "Qwen2DecoderLayer": Nothing},
                          "llama": {"LlamaDecoderLayer": LlamaDecoderLayer, "LlamaRMSNorm": LlamaRMSNorm}}.items():
        stub(f"transformers.models.{name}")
        stub(f"transformers.models.{name}.modeling_{name}", **members)
    for package in ("awq", "awq.quantize", "awq.utils"):  # Without their __init__, which load the kernels.
        stub(package, __path__=[str(pathlib.Path(clone, *package.split(".")))])
    stub("awq.quantize.qmodule", ScaledActivation=Nothing)
    stub("tqdm", tqdm=None)
    nn.Module.cuda = lambda self: self
    torch.Tensor.cuda = lambda self: self
    from awq.quantize import auto_clip, auto_scale, quantizer
    return auto_scale, auto_clip, quantizer.pseudo_quantize_tensor


def tensors_of(generator):
    draw = lambda *shape: torch.randn(*shape, generator=generator)
    sizes = torch.exp(1.2 * draw(IN))
    sizes[[5, 20]] *= 12  # Features of outliers.
    mix = torch.eye(IN) + 0.3 * draw(IN, IN)
    inputs = {name: (draw(TOKENS, IN) @ mix * sizes).float() for name in ("attention", "context", "mlp", "inside")}
    inputs["context"][:, 7] = 0  # A feature that is never there.
    return {name: draw(OUT, IN) / 4 for name in ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")}, inputs


def main():
    auto_scale, auto_clip, quantize = reference(sys.argv[1])
    weights, inputs = tensors_of(torch.Generator().manual_seed(7201))
    stored = {f"param/{name}": weights[name] for name in ("q_proj", "k_proj", "v_proj", "o_proj")} | {f"input/{name}": inputs[name] for name in ("attention", "context")}
    for setting in SETTINGS:
        q_config, where = {"zero_point": True, "q_group_size": setting["group_size"]}, f"out/{setting['bits']}_bits_group_{setting['group_size']}/"
        layer = LlamaDecoderLayer(weights)
        features = {"self_attn.q_proj": "attention", "self_attn.k_proj": "attention", "self_attn.v_proj": "attention", "self_attn.o_proj": "context",
                    "mlp.gate_proj": "mlp", "mlp.up_proj": "mlp", "mlp.down_proj": "inside"}
        features = {linear: inputs[name].double().clone() for linear, name in features.items()}
        scales = auto_scale.auto_scale_block(layer, {}, setting["bits"], q_config, features)
        layer = LlamaDecoderLayer(weights)  # What is searched for one tensor is not folded into the linear before it here.
        auto_scale.apply_scale(layer, [one for one in scales if "norm" in one[0]], features)
        o_proj, of_context = layer.self_attn.o_proj, {one[1][0]: one[2] for one in scales}["self_attn.o_proj"]
        o_proj.weight.data.mul_(of_context)
        features["self_attn.o_proj"].div_(of_context)
        stored |= {where + "factors/attention": scales[0][2], where + "factors/context": of_context}
        for name in ("v_proj", "o_proj"):
            linear = getattr(layer.self_attn, name)
            limits = auto_clip.auto_clip_layer(linear.weight.data, features["self_attn." + name], setting["bits"], q_config, n_sample_token=TOKENS)
            auto_clip.apply_clip(layer, [("self_attn." + name, limits)])
            stored |= {where + "limits/" + name: limits.squeeze(-1), where + "rounded/" + name: quantize(linear.weight.data, setting["bits"], **q_config)}
        stored[where + "rounded/q_proj"] = quantize(layer.self_attn.q_proj.weight.data, setting["bits"], **q_config)
        exponents = {name: exponent_of(inputs[name], stored[f"{where}factors/{name}"]) for name in ("attention", "context")}
        shares = [(stored[where + "limits/" + name] < (weights[name] * factors).abs().unflatten(-1, (-1, setting["group_size"])).amax(-1) * 0.99).double().mean().item()
                  for name, factors in (("v_proj", scales[0][2]), ("o_proj", of_context))]
        print(where, exponents, "narrowed:", shares)
    FOLDER.mkdir(exist_ok=True)
    case = {"case": "layer", "group": "awq", "config": {"grid": 20, "settings": SETTINGS}, "made_with": {"llm-awq": "d6e797a", "torch": torch.__version__.split("+")[0]}}
    (FOLDER / "layer.json").write_text(json.dumps(case, indent=1) + "\n")
    write_safetensors(FOLDER / "layer.safetensors", {key: x.contiguous().numpy() for key, x in stored.items()})


def exponent_of(x, factors):
    mean = x.double().abs().mean(0)
    for step in range(20):
        s = mean.pow(step / 20).clamp(min=1e-4)
        if torch.allclose(s / (s.max() * s.min()).sqrt(), factors, rtol=1e-12):
            return step / 20
    raise ValueError("no exponent gives these factors")


if __name__ == "__main__":
    main()
