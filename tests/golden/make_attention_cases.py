#!/usr/bin/env python3
"""Writes the cases of projected gates, norms of queries and keys, a key and value bias, registers, DyT, Derf, gates of norms, Peri-LN, outlier-protected blocks and EmbProj into
gpt2/, llama/, ncs_bert/ and vit/.

    PYTHONPATH=.deps/libtorch python3 tests/golden/make_attention_cases.py          # needs torch and NumPy; with names, those cases alone

No reference code ran: the formulas of the papers (README-models.md, 0.6) are written here once more, one head after the other, with gradients by
torch's autograd in float64. Without these parts the same code gives the numbers of cases made by Hugging Face's modules (`check`).
"""
import json
import math
import pathlib
import struct
import sys

import numpy as np
import torch
from plain_attention import Attention, norm
from torch.nn.functional import cross_entropy, gelu, linear, silu

ROOT = pathlib.Path(__file__).resolve().parent
NORMS = {"layernorm": "LAYER_NORM", "rmsnorm_m": "RMS_NORM_M", "dyt": "DYT", "derf": "DERF"}
TOLERANCES = {"float32": {"logits_relmax": 2e-5, "loss_abs": 1e-5, "attn_probs_abs": 5e-6, "grads_relmax": 2e-4},
              "float64": {"logits_relmax": 1e-10, "loss_abs": 1e-10, "attn_probs_abs": 1e-11, "grads_relmax": 1e-9}}


class Case:
    def __init__(self, config, method):
        self.config, self.method, self.distance = config, method, math.inf
        self.generator = torch.Generator().manual_seed(config["seed"])
        self.p = {}

    def draw(self, *shape):
        return torch.randn(shape, generator=self.generator, dtype=torch.float32)

    def add(self, name, *shape, mean=0.0, std=0.3):
        self.p[name] = mean + std * self.draw(*shape)

    def add_norm(self, name, size, offset, of_stream=True):
        scalars = {"dyt": {"alpha": 0.5}, "derf": {"alpha": 0.5, "shift": 0.0}}.get(self.config["norm"], {}) if of_stream else {}
        self.add(name + ".weight", size, mean=1.0, std=0.2)
        if offset or scalars:
            self.add(name + ".bias", size, std=0.2)
        for scalar, start in scalars.items():
            self.add(f"{name}.{scalar}", 1, mean=start, std=0.1)
        rank = self.method.get("norm_gate", 0) if of_stream else 0
        if rank:
            self.add(name + ".gate_down.weight", rank, size)
            self.add(name + ".gate_up.weight", size, rank, std=0.8)

    def add_output_norms(self, layer, offset):
        if self.method.get("peri"):
            for name in ("attention_output_layernorm", "ffn_output_layernorm"):
                self.add_norm(layer + name, self.config["d"], offset)

    def after(self, name, y):
        """The result of a part of a layer, before it is added."""
        return self.method.get("residual_gain", 1) * (norm(self.p, name, y, self.config["eps"]) if self.method.get("peri") else y)

    def before(self, name, x):
        """The input of a part of a layer."""
        return norm(self.p, name, x, self.config["eps"]) if name + ".weight" in self.p else x

    def placement(self, plain):
        return "PERI" if self.method.get("peri") else "ENDS" if self.method.get("ends") else plain

    def add_linear(self, name, out, inputs, bias=True, turned=False):
        self.add(name + ".weight", *((inputs, out) if turned else (out, inputs)))
        if bias:
            self.add(name + ".bias", out, std=0.2)

    def add_parts(self, scope):
        config, method = self.config, self.method
        d, heads, kv = config["d"], config["H"], config.get("KV", config["H"])
        gate = method.get("projected_gate")
        if gate:
            n = kv if gate["place"] in ("KEY", "VALUE") else heads
            self.add(scope + "gate.weight", n if gate["granularity"] == "HEADWISE" else n * (d // heads), d)
        if method.get("query_key_norm"):
            for name in ("q_norm", "k_norm"):
                self.add_norm(scope + name, d // heads, method["query_key_norm"] == "HEAD_LAYER", of_stream=False)
        if method.get("key_value_bias"):
            self.add(scope + "bias_k", kv, d // heads, std=0.8)
            self.add(scope + "bias_v", kv, d // heads, std=0.8)

    def linear(self, name, x):
        return linear(x, self.p[name + ".weight"], self.p.get(name + ".bias"))

    def padding(self):
        if not self.config.get("padded"):
            return None
        mask = torch.ones(self.config["B"], self.config["T"], dtype=torch.int64)
        for i in range(1, self.config["B"]):
            mask[i, self.config["T"] - 4 * i:] = 0
        return mask

    def text_input(self, masked):
        shape = (self.config["B"], self.config["T"])
        self.inputs = {"input_ids": torch.randint(3, self.config["vocab"], shape, generator=self.generator)}
        labels = self.inputs["input_ids"].clone()
        if masked:
            labels[torch.rand(shape, generator=self.generator) > 0.4] = -100
        mask = self.padding()
        if mask is not None:
            self.inputs["attention_mask"] = mask
            labels[mask == 0] = -100
        self.inputs["labels"] = labels

    def visible(self, causal):
        tokens = self.config["T"]
        seen = torch.ones(self.config["B"], tokens, tokens, dtype=torch.bool)
        if causal:
            seen = seen.tril()
        mask = self.inputs.get("attention_mask")
        return seen if mask is None else seen & (mask == 1).unsqueeze(1)


class Gpt2(Case):
    group = "gpt2"

    def make(self):
        c = self.config
        self.add("transformer.wte.weight", c["vocab"], c["d"], std=0.5)
        self.add("transformer.wpe.weight", c["n_positions"], c["d"])
        for i in range(c["L"]):
            layer = f"transformer.h.{i}."
            if i == 0 or not self.method.get("ends"):
                self.add_norm(layer + "ln_1", c["d"], True)
            self.add_linear(layer + "attn.c_attn", 3 * c["d"], c["d"], turned=True)
            self.add_linear(layer + "attn.c_proj", c["d"], c["d"], turned=True)
            self.add_parts(layer + "attn.")
            if not self.method.get("ends"):
                self.add_norm(layer + "ln_2", c["d"], True)
            self.add_linear(layer + "mlp.c_fc", c["n_inner"], c["d"], turned=True)
            self.add_linear(layer + "mlp.c_proj", c["d"], c["n_inner"], turned=True)
            self.add_output_norms(layer, True)
        self.add_norm("transformer.ln_f", c["d"], True)
        self.text_input(masked=False)

    def conv(self, name, x):
        return x @ self.p[name + ".weight"] + self.p[name + ".bias"]

    def logits(self):
        p, c = self.p, self.config
        x = p["transformer.wte.weight"][self.inputs["input_ids"]] + p["transformer.wpe.weight"][: c["T"]]
        for i in range(c["L"]):
            layer = f"transformer.h.{i}."
            y = self.before(layer + "ln_1", x)
            attention = Attention(self, layer + "attn.", y, self.visible(causal=True))
            context = attention.context(*self.conv(layer + "attn.c_attn", y).split(c["d"], -1))
            x = x + self.after(layer + "attention_output_layernorm", attention.output(self.conv(layer + "attn.c_proj", context)))
            y = gelu(self.conv(layer + "mlp.c_fc", self.before(layer + "ln_2", x)), approximate="tanh")
            x = x + self.after(layer + "ffn_output_layernorm", self.conv(layer + "mlp.c_proj", y))
        return norm(p, "transformer.ln_f", x, c["eps"]) @ p["transformer.wte.weight"].T

    def loss(self, logits):
        return cross_entropy(logits[:, :-1].flatten(0, 1), self.inputs["labels"][:, 1:].flatten())

    def spec(self):
        c = self.config
        return {"gpt2": {"layers": c["L"], "hidden_size": c["d"], "heads": c["H"], "norm_epsilon": c["eps"], "activation": "GELU_TANH",
                         "ffn_size": c["n_inner"], "vocab_size": c["vocab"], "max_positions": c["n_positions"], "norm_placement": self.placement("PRE"),
                         "position": "LEARNED", "biases": True, "tied_head": True}}


class Llama(Case):
    group = "llama"

    def make(self):
        c = self.config
        width = c["d"] // c["H"] * c["KV"]
        self.add("model.embed_tokens.weight", c["vocab"], c["d"], std=0.5)
        for i in range(c["L"]):
            layer = f"model.layers.{i}."
            self.add_norm(layer + "input_layernorm", c["d"], False)
            for name, out in (("q_proj", c["d"]), ("k_proj", width), ("v_proj", width), ("o_proj", c["d"])):
                self.add_linear(layer + "self_attn." + name, out, c["d"], bias=False)
            self.add_parts(layer + "self_attn.")
            self.add_norm(layer + "post_attention_layernorm", c["d"], False)
            for name, out, inputs in (("gate_proj", c["ff"], c["d"]), ("up_proj", c["ff"], c["d"]), ("down_proj", c["d"], c["ff"])):
                self.add_linear(layer + "mlp." + name, out, inputs, bias=False)
            self.add_output_norms(layer, False)
        self.add_norm("model.norm", c["d"], False)
        self.add_linear("lm_head", c["vocab"], c["d"], bias=False)
        if self.method.get("embedding_projection"):
            for name in ("embedding_projection", "head_projection"):
                self.add_linear(name, c["d"], c["d"], bias=False)
        self.text_input(masked=False)

    def projected(self, name, x):
        return self.linear(name, x) if self.method.get("embedding_projection") else x

    def logits(self):
        p, c = self.p, self.config
        x = self.projected("embedding_projection", p["model.embed_tokens.weight"][self.inputs["input_ids"]])
        for i in range(c["L"]):
            layer = f"model.layers.{i}."
            y = norm(p, layer + "input_layernorm", x, c["eps"])
            attention = Attention(self, layer + "self_attn.", y, self.visible(causal=True))
            context = attention.context(*(self.linear(layer + f"self_attn.{name}_proj", y) for name in "qkv"))
            x = x + self.after(layer + "attention_output_layernorm", attention.output(self.linear(layer + "self_attn.o_proj", context)))
            y = norm(p, layer + "post_attention_layernorm", x, c["eps"])
            y = self.linear(layer + "mlp.down_proj", silu(self.linear(layer + "mlp.gate_proj", y)) * self.linear(layer + "mlp.up_proj", y))
            x = x + self.after(layer + "ffn_output_layernorm", y)
        return self.linear("lm_head", self.projected("head_projection", norm(p, "model.norm", x, c["eps"])))

    loss = Gpt2.loss

    def spec(self):
        c = self.config
        return {"llama": {"layers": c["L"], "hidden_size": c["d"], "heads": c["H"], "norm_epsilon": c["eps"], "activation": "SILU",
                          "ffn_size": c["ff"], "vocab_size": c["vocab"], "max_positions": c["n_positions"], "norm_placement": self.placement("PRE"),
                          "position": "ROTARY", "kv_heads": c["KV"], "rotary_theta": c["theta"], "tied_head": False, "biases": False}}


class Bert(Case):
    group = "ncs_bert"

    def make(self):
        c, e = self.config, "bert.embeddings."
        self.add(e + "word_embeddings.weight", c["vocab"], c["d"], std=0.5)
        self.add(e + "position_embeddings.weight", c["n_positions"], c["d"])
        self.add(e + "token_type_embeddings.weight", 2, c["d"])
        self.add_norm(e + "LayerNorm", c["d"], True)
        for i in range(c["L"]):
            layer = f"bert.encoder.layer.{i}."
            for name in ("query", "key", "value"):
                self.add_linear(layer + "attention.self." + name, c["d"], c["d"])
            self.add_parts(layer + "attention.self.")
            self.add_linear(layer + "attention.output.dense", c["d"], c["d"])
            self.add_norm(layer + "attention.output.LayerNorm", c["d"], True)
            self.add_linear(layer + "intermediate.dense", c["ff"], c["d"])
            self.add_linear(layer + "output.dense", c["d"], c["ff"])
            self.add_norm(layer + "output.LayerNorm", c["d"], True)
        self.add_linear("cls.predictions.transform.dense", c["d"], c["d"])
        gate = self.method.pop("norm_gate", 0)  # Of the residual stream's norms.
        self.add_norm("cls.predictions.transform.LayerNorm", c["d"], True)
        self.method |= {"norm_gate": gate} if gate else {}
        self.add("cls.predictions.bias", c["vocab"], std=0.2)
        self.text_input(masked=True)
        self.inputs["token_type_ids"] = torch.randint(0, 2, (c["B"], c["T"]), generator=self.generator)

    def logits(self):
        p, c, e = self.p, self.config, "bert.embeddings."
        words = p[e + "word_embeddings.weight"]
        # The reference's lookup gives the pad row no gradient; no input has that id.
        x = words[self.inputs["input_ids"]] + p[e + "token_type_embeddings.weight"][self.inputs["token_type_ids"]] + p[e + "position_embeddings.weight"][: c["T"]]
        x = norm(p, e + "LayerNorm", x, c["eps"])
        for i in range(c["L"]):
            layer = f"bert.encoder.layer.{i}."
            attention = Attention(self, layer + "attention.self.", x, self.visible(causal=False))
            context = attention.context(*(self.linear(layer + "attention.self." + name, x) for name in ("query", "key", "value")))
            x = norm(p, layer + "attention.output.LayerNorm", x + attention.output(self.linear(layer + "attention.output.dense", context)), c["eps"])
            y = self.linear(layer + "output.dense", gelu(self.linear(layer + "intermediate.dense", x)))
            x = norm(p, layer + "output.LayerNorm", x + y, c["eps"])
        y = norm(p, "cls.predictions.transform.LayerNorm", gelu(self.linear("cls.predictions.transform.dense", x)), c["eps"])
        return y @ words.T + p["cls.predictions.bias"]

    def loss(self, logits):
        return cross_entropy(logits.flatten(0, 1), self.inputs["labels"].flatten())

    def spec(self):
        c = self.config
        return {"bert": {"layers": c["L"], "hidden_size": c["d"], "heads": c["H"], "norm_epsilon": c["eps"], "activation": "GELU_ERF",
                         "ffn_size": c["ff"], "vocab_size": c["vocab"], "max_positions": c["n_positions"], "norm_placement": "POST", "position": "LEARNED"}}


class Vit(Case):
    group = "vit"

    def make(self):
        c, e = self.config, "vit.embeddings."
        self.config["T"] = 1 + (c["image"] // c["patch"]) ** 2 + c["registers"]
        self.add(e + "cls_token", 1, 1, c["d"], std=0.5)
        self.add(e + "position_embeddings", 1, self.config["T"] - c["registers"], c["d"])
        if c["registers"]:
            self.add(e + "register_tokens", 1, c["registers"], c["d"], std=0.5)
        self.add(e + "patch_embeddings.projection.weight", c["d"], c["channels"], c["patch"], c["patch"], std=0.15)
        self.add(e + "patch_embeddings.projection.bias", c["d"], std=0.2)
        for i in range(c["L"]):
            layer = f"vit.encoder.layer.{i}."
            self.add_norm(layer + "layernorm_before", c["d"], True)
            for name in ("query", "key", "value"):
                self.add_linear(layer + "attention.attention." + name, c["d"], c["d"])
            self.add_parts(layer + "attention.attention.")
            self.add_linear(layer + "attention.output.dense", c["d"], c["d"])
            self.add_norm(layer + "layernorm_after", c["d"], True)
            self.add_linear(layer + "intermediate.dense", c["ff"], c["d"])
            self.add_linear(layer + "output.dense", c["d"], c["ff"])
        self.add_norm("vit.layernorm", c["d"], True)
        self.add_linear("classifier", c["classes"], c["d"])
        self.inputs = {"pixel_values": self.draw(c["B"], c["channels"], c["image"], c["image"]),
                       "labels": torch.randint(0, c["classes"], (c["B"],), generator=self.generator)}

    def logits(self):
        p, c, e = self.p, self.config, "vit.embeddings."
        kernel = p[e + "patch_embeddings.projection.weight"]
        patches = torch.nn.functional.conv2d(self.inputs["pixel_values"].to(kernel.dtype), kernel, p[e + "patch_embeddings.projection.bias"], stride=c["patch"])
        x = torch.cat([p[e + "cls_token"].expand(c["B"], 1, -1), patches.flatten(2).transpose(1, 2)], 1) + p[e + "position_embeddings"]
        if c["registers"]:
            x = torch.cat([x, p[e + "register_tokens"].expand(c["B"], -1, -1)], 1)
        for i in range(c["L"]):
            layer = f"vit.encoder.layer.{i}."
            y = norm(p, layer + "layernorm_before", x, c["eps"])
            attention = Attention(self, layer + "attention.attention.", y, self.visible(causal=False))
            context = attention.context(*(self.linear(layer + "attention.attention." + name, y) for name in ("query", "key", "value")))
            x = x + attention.output(self.linear(layer + "attention.output.dense", context))
            y = norm(p, layer + "layernorm_after", x, c["eps"])
            x = x + self.linear(layer + "output.dense", gelu(self.linear(layer + "intermediate.dense", y)))
        return self.linear("classifier", norm(p, "vit.layernorm", x, c["eps"])[:, 0])

    def loss(self, logits):
        return cross_entropy(logits, self.inputs["labels"])

    def spec(self):
        c = self.config
        spec = {"layers": c["L"], "hidden_size": c["d"], "heads": c["H"], "norm_epsilon": c["eps"], "activation": "GELU_ERF", "ffn_size": c["ff"],
                "image_size": c["image"], "patch_size": c["patch"], "channels": c["channels"], "classes": c["classes"], "patch_norm": False,
                "norm_placement": "PRE", "position": "LEARNED"}
        return {"vit": spec | ({"registers": c["registers"]} if c["registers"] else {})}


def run(case, precision):
    """Logits, loss, probabilities, gates and gradients, of parameters that are float32 numbers."""
    stored = case.p
    case.p = {name: value.clone().to(precision).requires_grad_() for name, value in stored.items()}
    case.probabilities, case.gates = [], []
    logits = case.logits()
    loss = case.loss(logits)
    loss.backward()
    out = {"logits": logits, "loss": loss.reshape(1)}
    out |= {f"attn_probs/{i}": x for i, x in enumerate(case.probabilities)} | {f"gate/{i}": x for i, x in enumerate(case.gates)}
    gradients = {name: value.grad for name, value in case.p.items()}
    case.p = stored
    return {name: x.detach().numpy() for name, x in out.items()}, {name: x.numpy() for name, x in gradients.items()}


def write_safetensors(path, tensors):
    kinds = {"int64": "I64", "float32": "F32", "float64": "F64"}
    header, data = {}, b""
    for name, value in sorted(tensors.items()):
        raw = np.ascontiguousarray(value).tobytes()
        header[name] = {"dtype": kinds[str(value.dtype)], "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def relmax(a, b):
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 0.01))


def attention_spec(method):
    attention = method["attention"]
    softmax = {"vanilla": {}} if attention["kind"] == "softmax" else {"ncs": {"beta": attention["beta"], "zeta": attention["zeta"], "length": "RUN"}}
    gate = dict(method.get("projected_gate", {}))
    factor = gate.pop("output_factor", None)
    spec = {"softmax": softmax, "gate": ({"projected": gate} if gate else {"none": {}}) | ({"output_factor": factor} if factor else {})}
    return spec | {key: method[key] for key in ("query_key_norm", "key_value_bias") if key in method}


def write(name, kind, config, method):
    if len(sys.argv) > 1 and name not in sys.argv[1:]:
        return
    case = kind(dict(config), {"attention": {"kind": "softmax"}} | method)
    case.make()
    out, gradients = run(case, torch.float64)
    out32, gradients32 = run(case, torch.float32)
    rows = np.stack([x.sum(-1) for key, x in out.items() if key.startswith("attn_probs/")])
    zeros = np.mean([np.mean(x == 0) for key, x in out.items() if key.startswith("attn_probs/")])
    expected = {"loss": float(out["loss"][0]), "loss_float32_run": float(out32["loss"][0]),
                "grad_global_norm": math.sqrt(sum(float((g * g).sum()) for g in gradients.values())),
                "attn_row_sum_min": float(rows.min()), "attn_row_sum_mean": float(rows.mean()), "attn_zero_fraction_of_entries": float(zeros)}
    if math.isfinite(case.distance):
        assert case.distance > 4e-5, f"{name}: {case.distance} from a threshold of the clip: take another seed"
        expected["min_distance_to_clip_threshold"] = case.distance
    error = {"logits": relmax(out32["logits"], out["logits"]), "loss": relmax(out32["loss"], out["loss"]),
             "attn_probs": max(float(np.abs(out32[key] - x).max()) for key, x in out.items() if key.startswith("attn_probs/")),
             "grads": max(relmax(gradients32[key], g) for key, g in gradients.items())}
    written = {"case": name, "group": kind.group, "config": case.config, "method": case.method, "expected": expected,
               "measured_float32_error_relmax": error, "tolerances": TOLERANCES,
               "made_with": {"make_attention_cases.py": "torch " + torch.__version__, "numpy": np.__version__},
               "spec": {"model": case.spec(), "attention": attention_spec(case.method), "norm": NORMS[config["norm"]]}
               | {key: case.method[key] for key in ("norm_gate", "embedding_projection", "residual_gain") if key in case.method}}
    tensors = {f"param/{key}": x.numpy() for key, x in case.p.items()} | {f"input/{key}": x.numpy() for key, x in case.inputs.items()}
    tensors |= {f"out/{key}": x for key, x in out.items()} | {f"grad/{key}": x for key, x in gradients.items()} | {"out32/logits": out32["logits"]}
    folder = ROOT / kind.group
    (folder / f"{name}.json").write_text(json.dumps(written, indent=1))
    write_safetensors(folder / f"{name}.safetensors", tensors)
    print(kind.group, name, f"loss {expected['loss']:.4f}", "float32 error", {key: f"{value:.1e}" for key, value in error.items()})


def read_safetensors(path):
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    kinds = {"I64": np.int64, "F32": np.float32, "F64": np.float64}
    return {name: torch.from_numpy(np.frombuffer(raw, kinds[entry["dtype"]], int(np.prod(entry["shape"])), 8 + length + entry["data_offsets"][0])
                                   .reshape(entry["shape"]).copy())
            for name, entry in json.loads(raw[8: 8 + length]).items() if name != "__metadata__"}


def check(name, kind):
    """This code gives the logits, probabilities and gradients of a case of Hugging Face's modules, which has none of the parts."""
    tensors, config = read_safetensors(ROOT / kind.group / f"{name}.safetensors"), json.loads((ROOT / kind.group / f"{name}.json").read_text())["config"]
    if kind is Vit:
        config |= {"registers": 0, "T": 1 + (config["image"] // config["patch"]) ** 2}
    case = kind(config, {"attention": {"kind": "softmax"}})
    case.p = {key[len("param/"):]: x for key, x in tensors.items() if key.startswith("param/")}
    case.inputs = {key[len("input/"):]: x for key, x in tensors.items() if key.startswith("input/")}
    out, gradients = run(case, torch.float64)
    kept = case.inputs.get("attention_mask")
    at = slice(None) if kept is None or kind is Bert else kept.bool().numpy()
    worst = max(relmax(out["logits"][at], tensors["out/logits"].numpy()[at]), *(relmax(g, tensors["grad/" + key].numpy()) for key, g in gradients.items()))
    print("check", kind.group, name, f"{worst:.1e}")
    assert worst < 1e-9, (kind.group, name, worst)


def main():
    check("vanilla_ln", Gpt2)
    check("vanilla_ln_padded", Gpt2)
    check("vanilla_gqa", Llama)
    check("vanilla", Bert)
    check("vanilla", Vit)
    gpt2 = {"arch": "gpt2", "d": 16, "H": 4, "L": 2, "vocab": 61, "n_positions": 24, "n_inner": 40, "act": "gelu_new", "norm": "layernorm", "bias": True,
            "eps": 1e-5, "B": 3, "T": 16, "tie_word_embeddings": True}
    llama = {"arch": "llama", "d": 16, "H": 4, "KV": 2, "L": 2, "vocab": 53, "n_positions": 24, "ff": 40, "act": "silu", "norm": "rmsnorm_m", "bias": False,
             "eps": 1e-5, "theta": 10000.0, "tie": False, "B": 3, "T": 16}
    bert = {"arch": "bert", "d": 16, "H": 4, "L": 2, "vocab": 47, "n_positions": 48, "ff": 40, "act": "gelu", "norm": "layernorm", "eps": 1e-12, "B": 3, "T": 16}
    vit = {"arch": "vit", "d": 16, "H": 4, "L": 2, "image": 16, "patch": 4, "channels": 3, "classes": 5, "ff": 40, "act": "gelu", "norm": "layernorm",
           "bias": True, "eps": 1e-6, "patch_ln": False, "B": 3, "registers": 3}

    def gate(place, granularity, **others):
        return {"projected_gate": {"place": place, "granularity": granularity} | others}

    write("qk_norm_layer", Gpt2, gpt2 | {"seed": 5001}, {"query_key_norm": "HEAD_LAYER"})
    write("qk_norm_rms_gqa", Llama, llama | {"seed": 5002}, {"query_key_norm": "HEAD_RMS"})
    write("kv_bias_padded", Gpt2, gpt2 | {"seed": 5003, "padded": True}, {"key_value_bias": True})
    write("kv_bias_padded", Bert, bert | {"seed": 5004, "padded": True}, {"key_value_bias": True})
    write("kv_bias_ncs_run", Bert, bert | {"seed": 5005}, {"key_value_bias": True, "attention": {"kind": "ncs", "beta": -1.0, "zeta": 1.0, "len_source": "run"}})
    write("gate_projected_context", Gpt2, gpt2 | {"seed": 5006}, gate("CONTEXT", "ELEMENTWISE"))
    write("gate_projected_context_headwise", Llama, llama | {"seed": 5007}, gate("CONTEXT", "HEADWISE"))
    write("gate_projected_value_gqa", Llama, llama | {"seed": 5008}, gate("VALUE", "ELEMENTWISE"))
    write("gate_projected_value_headwise", Gpt2, gpt2 | {"seed": 5009}, gate("VALUE", "HEADWISE"))
    write("gate_projected_key", Gpt2, gpt2 | {"seed": 5010}, gate("KEY", "ELEMENTWISE"))
    write("gate_projected_key_headwise_gqa", Llama, llama | {"seed": 5011}, gate("KEY", "HEADWISE"))
    write("gate_projected_query_qk_norm", Llama, llama | {"seed": 5012}, gate("QUERY", "ELEMENTWISE") | {"query_key_norm": "HEAD_RMS", "key_value_bias": True})
    write("gate_projected_query_headwise", Gpt2, gpt2 | {"seed": 5013}, gate("QUERY", "HEADWISE", output_factor=2.0))
    write("gate_projected_output", Llama, llama | {"seed": 5014}, gate("OUTPUT", "ELEMENTWISE", output_factor=2.0))
    write("gate_projected_output_headwise", Gpt2, gpt2 | {"seed": 5015}, gate("OUTPUT", "HEADWISE"))
    write("registers", Vit, vit | {"seed": 5016}, {})
    write("registers_qk_norm", Vit, vit | {"seed": 5017}, {"query_key_norm": "HEAD_LAYER"} | gate("CONTEXT", "ELEMENTWISE"))
    write("dyt", Gpt2, gpt2 | {"norm": "dyt", "seed": 5018}, {})
    write("dyt_gated", Llama, llama | {"norm": "dyt", "seed": 5019}, {"norm_gate": 3})
    write("dyt_post_gated", Bert, bert | {"norm": "dyt", "seed": 5020}, {"norm_gate": 2})
    write("derf", Llama, llama | {"norm": "derf", "seed": 5027}, {})
    write("norm_gate", Llama, llama | {"seed": 5021}, {"norm_gate": 4})
    write("norm_gate_qk_norm", Gpt2, gpt2 | {"seed": 5022}, {"norm_gate": 4, "query_key_norm": "HEAD_RMS"})
    write("peri", Gpt2, gpt2 | {"seed": 5023}, {"peri": True})
    write("peri_gated_output", Llama, llama | {"seed": 5024}, {"peri": True, "norm_gate": 3} | gate("OUTPUT", "ELEMENTWISE"))
    write("outlier_protected", Gpt2, gpt2 | {"seed": 5028}, {"ends": True, "residual_gain": 0.4, "query_key_norm": "HEAD_RMS"})
    write("embedding_projection", Llama, llama | {"seed": 5025}, {"embedding_projection": True})
    write("embedding_projection_peri", Llama, llama | {"seed": 5026}, {"embedding_projection": True, "peri": True})


if __name__ == "__main__":
    main()
