"""Models that inlier trained with parts of attention, norms or registers that transformers has not, or quantized.

transformers' own classes, with parts replaced: from attention scores to the context, gates and norms of queries, keys, values and the
output, the norms, registers of a ViT, and, where the folder has inlier_quantization.json, the tensors that inlier rounded. Logits equal inlier's up to the rounding of float32.
Tested with transformers 4.57.6.
"""
import base64
import functools
import io
import math

import torch
from torch import nn
from transformers import (AttentionInterface, AttentionMaskInterface, BertForMaskedLM, BertForSequenceClassification, GPT2LMHeadModel,
                          LlamaForCausalLM, OPTForCausalLM, ViTForImageClassification)
from transformers.masking_utils import eager_mask
from transformers.models.bert.modeling_bert import BertEmbeddings, BertSelfAttention
from transformers.pytorch_utils import Conv1D

from .configuration_inlier import InlierBertConfig, InlierGPT2Config, InlierLlamaConfig, InlierOPTConfig, InlierViTConfig


# ---- Softmax. scores: (B, H, T, K), masked; hidden: what the mask hides, or None.
def clipped(scores, gamma, zeta):
    return (gamma + (zeta - gamma) * scores.softmax(-1)).clamp(0, 1)


def ncs_gamma(beta, zeta, n):
    return ((beta - zeta) / (n - 1)).masked_fill(n <= 1, 0)


def null_key(scores, z):
    largest = torch.maximum(scores.amax(-1, keepdim=True), z)
    weights = (scores - largest).exp()
    return weights / (weights.sum(-1, keepdim=True) + (z - largest).exp())


def softpick(scores, epsilon):
    largest = scores.detach().amax(-1, keepdim=True)
    largest = largest.masked_fill(largest.isneginf(), 0)
    r = ((scores - largest).exp() - (-largest).exp()).masked_fill(scores.isneginf(), 0)
    return r.relu() / (r.abs().sum(-1, keepdim=True) + epsilon)


def probabilities(module, scores, hidden):
    kind, options = module.inlier_softmax
    keys = scores.shape[-1] - hasattr(module, "bias_k")  # The learned key, which is the last, is no token.
    mask = torch.ones_like(scores[:, :1], dtype=torch.bool) if hidden is None else ~hidden
    seen = mask[..., :keys]
    if kind == "clipped":
        return clipped(scores, options["gamma"], options["zeta"])
    if kind == "ncs":
        queries = scores.shape[-2]
        if options["length"] == "ROW":  # Position of the query, from 1.
            n = torch.arange(keys - queries + 1, keys + 1, device=scores.device, dtype=scores.dtype).view(1, 1, -1, 1)
        elif options["length"] == "UNPADDED":  # Real tokens: what the last query sees.
            n = seen.sum(-1, keepdim=True).to(scores.dtype)[..., -1:, :]
        else:  # RUN
            n = scores.new_full((1, 1, 1, 1), keys)
        return clipped(scores, ncs_gamma(options["beta"], options["zeta"], n), options["zeta"])
    if kind == "softmax_n":
        return null_key(scores, scores.new_tensor(math.log(options["n"])))
    if kind == "sink":
        return null_key(scores, module.sinks.view(1, -1, 1, 1).to(scores.dtype))
    if kind == "softpick":
        return softpick(scores if hidden is None else scores.masked_fill(hidden, -math.inf), options["epsilon"])
    if kind == "sigmoid":
        return (scores - seen.sum(-1, keepdim=True).clamp(min=1).to(scores.dtype).log()).sigmoid()
    if kind == "relu":
        n = seen.sum(-1, keepdim=True).clamp(min=1).to(scores.dtype)
        return scores.relu() / n ** options["power"] * mask
    if kind == "vanilla":
        return scores.softmax(-1)
    if kind == "script":
        return run(module.__dict__["inlier_script"].to(scores.device), scores, mask)
    raise ValueError(f"config.json: inlier.attention.softmax: {kind} is not known here; export the model again with the inlier that trained it")


# ---- Scripts: functions of one's own, run operation by operation, as inlier does.
def script_of(config, part):
    return torch.jit.load(io.BytesIO(base64.b64decode(config.inlier_scripts[part])), map_location="cpu").eval()


def run(script, *args):
    with torch.jit.optimized_execution(False):
        return script(*args)


class ScriptGate(nn.Module):
    """The script, or a module of it, with parameters of its own under the script's names."""

    def __init__(self, script):
        super().__init__()
        self.__dict__["script"] = script
        for name, value in script.named_parameters(recurse=False):
            self.register_parameter(name, nn.Parameter(torch.empty_like(value, device=torch.get_default_device())))
        for name, part in script.named_children():
            self.add_module(name, ScriptGate(part))

    def use_parameters(self):
        for name, value in self.named_parameters(recurse=False):
            setattr(self.__dict__["script"], name, value)
        for part in self.children():
            part.use_parameters()

    def forward(self, x):
        """x: (B, T, H, h)."""
        script = self.__dict__["script"].to(x.device)
        self.use_parameters()
        return run(script, x)


# ---- Gates: each head's context times sigmoid(logit), from what feeds query, key and value. A projected gate may be at another place.
def add_gate(attention, config, gate, hidden_size, heads, kv_heads):
    size = hidden_size // heads
    attention.inlier_place = gate.get("projected", {}).get("place", "CONTEXT")
    if "linear" in gate:
        attention.gate = nn.ModuleList(nn.Linear(size, 1) for _ in range(heads))
    elif "mlp" in gate:
        inner = gate["mlp"]["hidden_size"]
        attention.gate = nn.ModuleList(nn.Sequential(nn.Linear(size, inner), nn.ReLU(), nn.Linear(inner, 1)) for _ in range(heads))
    elif "all_heads_linear" in gate:
        attention.gate = nn.Linear(hidden_size, heads)
    elif "unconditional" in gate:
        attention.gate = nn.Parameter(torch.zeros(heads))
    elif "script" in gate:
        attention.gate = ScriptGate(script_of(config, "gate"))
    elif "projected" in gate:
        attention.inlier_gated_heads = kv_heads if attention.inlier_place in ("KEY", "VALUE") else heads
        width = 1 if gate["projected"].get("granularity") == "HEADWISE" else size
        attention.gate = nn.Linear(hidden_size, attention.inlier_gated_heads * width, bias=False)


def gate_of(module, x):
    """(B, H, T, 1), or what broadcasts to it; of a projected gate (B, gated heads, T, h or 1)."""
    gate, spec = module.gate, module.inlier_gate
    if hasattr(module, "inlier_gated_heads"):
        return gate(x).unflatten(-1, (module.inlier_gated_heads, -1)).transpose(1, 2).sigmoid()
    if isinstance(gate, ScriptGate):
        return gate(x.unflatten(-1, (-1, module.inlier_head_size)).float()).transpose(1, 2)
    if isinstance(gate, nn.Parameter):
        return gate.sigmoid().view(1, -1, 1, 1)
    if isinstance(gate, nn.ModuleList):
        logits = torch.cat([one(part) for one, part in zip(gate, x.chunk(len(gate), -1))], -1)
    else:
        logits = gate(x)
    logits = logits.transpose(1, 2).unsqueeze(-1)
    return (logits.mean(2, keepdim=True) if spec.get("pooled") else logits).sigmoid()


def gated(module, place, y):
    """y: (B, T, heads, h)."""
    if not hasattr(module, "gate") or module.inlier_place != place:
        return y
    return y * (gate_of(module, module.inlier_input).transpose(1, 2) * module.inlier_gate.get("output_factor", 1.0))


# ---- Queries, keys and values as the projections give them, gated and normed before transformers rotates and caches them.
PROJECTIONS = {  # Of a class of attention: linears, and what each of them gives.
    **dict.fromkeys(("BertSelfAttention", "ViTSelfAttention"), {"query": ("QUERY",), "key": ("KEY",), "value": ("VALUE",)}),
    **dict.fromkeys(("OPTAttention", "LlamaAttention"), {"q_proj": ("QUERY",), "k_proj": ("KEY",), "v_proj": ("VALUE",)}),
    "GPT2Attention": {"c_attn": ("QUERY", "KEY", "VALUE")},
}
OUTPUT_PROJECTIONS = {"OPTAttention": "out_proj", "LlamaAttention": "o_proj", "GPT2Attention": "c_proj"}  # Below the attention; else output.dense next to it.
NORMS = {"QUERY": "q_norm", "KEY": "k_norm"}


def change_projection(linear, args, output, attention, places):
    parts = []
    for place, part in zip(places, output.chunk(len(places), -1)):
        heads = gated(attention, place, part.unflatten(-1, (-1, attention.inlier_head_size)))
        norm = getattr(attention, NORMS.get(place, ""), None)
        parts.append((heads if norm is None else norm(heads)).flatten(-2))
    return parts[0] if len(parts) == 1 else torch.cat(parts, -1)


def gate_output(linear, args, output, attention):
    heads = gated(attention, "OUTPUT", output.unflatten(-1, (-1, attention.inlier_head_size)))
    del attention.inlier_input
    return heads.flatten(-2)


def change_projections(model, path, attention, kind):
    """After add_rounding: inlier rounds what a linear gives, and gates and norms the result."""
    for name, places in PROJECTIONS[kind].items():
        if any(place == attention.inlier_place or hasattr(attention, NORMS.get(place, "")) for place in places):
            attention.get_submodule(name).register_forward_hook(functools.partial(change_projection, attention=attention, places=places))
    if attention.inlier_place == "OUTPUT":
        beside = path.rpartition(".")[0] + ".output.dense"
        output = attention.get_submodule(OUTPUT_PROJECTIONS[kind]) if kind in OUTPUT_PROJECTIONS else model.get_submodule(beside)
        output.register_forward_hook(functools.partial(gate_output, attention=attention))


# ---- Attention
def with_bias(x, bias):
    """x: (B, kv_heads, K, h); bias (kv_heads, h) becomes its last token."""
    return torch.cat([x, bias.to(x.dtype)[None, :, None].expand(x.shape[0], -1, 1, -1)], 2)


def inlier_attention(module, query, key, value, attention_mask=None, scaling=None, dropout=0.0, **kwargs):
    """query (B, H, T, h); key and value (B, kv_heads, K, h). Returns the context (B, T, H, h) and the probabilities."""
    groups, tokens = query.shape[1] // key.shape[1], key.shape[2]
    if hasattr(module, "bias_k"):
        key, value = with_bias(key, module.bias_k), with_bias(value, module.bias_v)
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = query @ key.transpose(-1, -2)
    if scaling != 1.0:  # OPT has scaled the query.
        scores = scores / math.sqrt(query.shape[-1])
    scores = round_at(module, "attn_scores_act_quantizer", scores.float())
    hidden = None
    if attention_mask is not None:
        attention_mask = attention_mask[..., :tokens]
        hidden = attention_mask < torch.finfo(attention_mask.dtype).min / 2
    elif getattr(module, "is_causal", False):
        hidden = torch.ones(scores.shape[-2], tokens, dtype=torch.bool, device=scores.device).triu(tokens - scores.shape[-2] + 1)[None, None]
    if hidden is not None and module.inlier_prefix > 0:
        rows = max(0, module.inlier_prefix - tokens + hidden.shape[-2])
        hidden = hidden.clone()
        hidden[..., :rows, :module.inlier_prefix] = hidden[..., -1:, :module.inlier_prefix]  # The last query sees all but padding.
    if hidden is not None:
        hidden = nn.functional.pad(hidden, (0, scores.shape[-1] - tokens))
        scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
    probs = round_at(module, "attn_probs_act_quantizer", probabilities(module, scores, hidden)).to(value.dtype)
    context = nn.functional.dropout(probs, dropout, module.training) @ value
    if module.inlier_rounds_first:
        context = round_at(module, "context_act_quantizer", context)
    context = gated(module, "CONTEXT", context.transpose(1, 2)).transpose(1, 2)
    if module.inlier_place != "OUTPUT":
        module.__dict__.pop("inlier_input", None)
    if not module.inlier_rounds_first:
        context = round_at(module, "context_act_quantizer", context)
    return context.transpose(1, 2).contiguous(), probs


AttentionInterface.register("inlier", inlier_attention)
AttentionMaskInterface.register("inlier", eager_mask)


class InlierBertSelfAttention(BertSelfAttention):
    def forward(self, hidden_states, attention_mask=None, *args, **kwargs):
        def heads(x):
            return x.unflatten(-1, (self.num_attention_heads, -1)).transpose(1, 2)

        q, k, v = heads(self.query(hidden_states)), heads(self.key(hidden_states)), heads(self.value(hidden_states))
        context, probs = inlier_attention(self, q, k, v, attention_mask, dropout=self.dropout.p)
        return context.flatten(-2), probs


class InlierBertEmbeddings(BertEmbeddings):
    """Both sums are rounded."""

    def forward(self, input_ids=None, token_type_ids=None, position_ids=None, inputs_embeds=None, past_key_values_length=0, **kwargs):
        x = self.word_embeddings(input_ids) if inputs_embeds is None else inputs_embeds
        types = torch.zeros(x.shape[:2], dtype=torch.long, device=x.device) if token_type_ids is None else token_type_ids
        positions = self.position_ids[:, : x.shape[1]] if position_ids is None else position_ids
        x = round_at(self, "sum_input_token_type_embd_act_quantizer", x + self.token_type_embeddings(types))
        x = round_at(self, "sum_pos_embd_act_quantizer", x + self.position_embeddings(positions))
        return self.dropout(self.LayerNorm(x))


# ---- Norms
class InlierRMSNorm(nn.Module):
    """gain * x / sqrt(mean(x^2) + epsilon), with one gain a channel or one for all."""

    def __init__(self, size, epsilon, single):
        super().__init__()
        self.weight, self.size, self.epsilon = nn.Parameter(torch.ones(1 if single else size)), size, epsilon

    def forward(self, x):
        return nn.functional.rms_norm(x.float(), (self.size,), eps=self.epsilon).to(x.dtype) * self.weight


def new_norm(old, kind, epsilon):
    size = old.weight.shape[0]
    epsilon = epsilon or getattr(old, "eps", None) or old.variance_epsilon
    return nn.LayerNorm(size, eps=epsilon) if kind == "LAYER_NORM" else InlierRMSNorm(size, epsilon, kind == "RMS_NORM_S")


# ---- Rounding. A rule is a fixed grid (scale, zero_point, integer_min, integer_max), or that of each tensor or of each of
# its rows or columns: `grid` (absmax, zeropoint) and `scope`. With `group_size` a row of the fixed grid has a scale for each group of columns.
def grid_of(x, rule):
    if "scale" in rule:
        numbers = tuple(torch.tensor(rule[key], dtype=torch.float64, device=x.device).to(x.dtype) for key in ("scale", "zero_point"))
        if "group_size" in rule:
            return tuple(n.reshape(x.shape[0], -1).repeat_interleave(rule["group_size"], 1)[:, : x.shape[1]] for n in numbers)
        shape = [-1] + [1] * (x.dim() - 1) if len(rule["scale"]) > 1 else []
        return tuple(n.reshape(shape) for n in numbers)
    axes = {"tensor": tuple(range(x.dim())), "row": (-1,), "column": tuple(range(x.dim() - 1))}[rule["scope"]]
    if rule["grid"] == "absmax":
        scale = x.abs().amax(axes, keepdim=True) / rule["integer_max"]
        return scale.masked_fill(scale == 0, 1), torch.zeros_like(scale)
    low = x.amin(axes, keepdim=True)
    scale = (x.amax(axes, keepdim=True) - low) / rule["integer_max"]
    return scale, torch.round(-low / scale)


def rounded(x, rule):
    scale, zero = grid_of(x, rule)
    result = (torch.clamp(torch.round(x / scale) + zero, rule["integer_min"], rule["integer_max"]) - zero) * scale
    return torch.where(scale == 0, x, result)


def round_at(module, name, x):
    rule = module.inlier_rules.get(name)
    return x if rule is None else rounded(x, rule)


def round_input(module, args, rule):
    return (rounded(args[0], rule), *args[1:])


def round_sum(module, args, rule):
    args[0].copy_(rounded(args[0], rule))  # In place: the residual path reads the same tensor.


def round_output(module, args, output, rule):
    return (rounded(output[0], rule), *output[1:]) if isinstance(output, tuple) else rounded(output, rule)


def use_rounded_weight(module, args, rule):
    weight = module._parameters["weight"]
    module.__dict__["inlier_weight"] = weight
    module._parameters["weight"] = rounded(weight.t(), rule).t() if isinstance(module, Conv1D) else rounded(weight, rule)


def restore_weight(module, args, output):
    module._parameters["weight"] = module.__dict__.pop("inlier_weight")


# Where a site of inlier (its end) is in transformers' modules, if not at the module of that name.
WEIGHTS = {"intermediate.0": "intermediate.dense", "quant_embedding": "", "fc1_act": "fc1"}
SUMS = {  # Rounded at the input of a module.
    "bert": {"attention.output.res_act_quantizer": "attention.output.LayerNorm", "output.res_act_quantizer": "output.LayerNorm"},
    "opt": {"embed_sum_act_quantizer": "layers.0", "self_attn_res_act_quantizer": "final_layer_norm"},
    "opt post": {"embed_sum_act_quantizer": "layers.0", "self_attn_res_act_quantizer": "self_attn_layer_norm", "ffn_res_act_quantizer": "final_layer_norm"},
    "vit": {"attention.output.res_act_quantizer": "layernorm_after"},
}
OUTPUTS = {
    "bert": {"intermediate.0": "intermediate"},
    "opt": {"ffn_res_act_quantizer": "", "fc1_act": "activation_fn"},
    "opt post": {"fc1_act": "activation_fn"},
    "vit": {"output.res_act_quantizer": "", "intermediate.act_quantizer": "intermediate", "sum_pos_embd_act_quantizer": ""},
}


def place(site, places):
    """The path of the module, or None."""
    for end, module in places.items():
        if site.endswith("." + end):
            return (site[: -len(end)] + module).rstrip(".")
    return None


def add_rounding(model, kind, rules):
    for site, rule in rules.get("weights", {}).items():
        module = model.get_submodule(place(site, WEIGHTS) or site)
        module.register_forward_pre_hook(functools.partial(use_rounded_weight, rule=rule))
        module.register_forward_hook(restore_weight, always_call=True)
    for site, rule in rules.get("inputs", {}).items():
        model.get_submodule(place(site, WEIGHTS) or site).register_forward_pre_hook(functools.partial(round_input, rule=rule))
    for site, rule in rules.get("outputs", {}).items():
        model.get_submodule(place(site, WEIGHTS) or site).register_forward_hook(functools.partial(round_output, rule=rule))
    for site, rule in rules.get("activations", {}).items():
        owner, _, name = site.rpartition(".")
        at_input, at_output = place(site, SUMS.get(kind, {})), place(site, OUTPUTS.get(kind, {}))
        if at_input is not None:
            model.get_submodule(at_input).register_forward_pre_hook(functools.partial(round_sum, rule=rule))
        elif at_output is not None:
            model.get_submodule(at_output).register_forward_hook(functools.partial(round_output, rule=rule))
        elif name.endswith("_act_quantizer"):  # round_at applies it where the tensor is computed.
            model.get_submodule(owner).inlier_rules[name] = rule
        else:
            model.get_submodule(site).register_forward_hook(functools.partial(round_output, rule=rule))


# ---- Models
ATTENTIONS = ("BertSelfAttention", "OPTAttention", "GPT2Attention", "LlamaAttention", "ViTSelfAttention")


def keep_input(module, args, kwargs):
    module.inlier_input = args[0] if args else kwargs["hidden_states"]


def norm_patches(module, args, output):
    return module.norm(output)


def append_registers(module, args, output):
    return torch.cat([output, module.dropout(module.register_tokens).expand(output.shape[0], -1, -1)], 1)


def epsilon_of(config, options):
    """Of the model's norms."""
    for name in ("layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps"):
        if hasattr(config, name):
            return getattr(config, name)
    return options.get("norm_epsilon", 1e-5)  # OPT


class WithInlier:
    def __init__(self, config, *args, **kwargs):
        kind = config.model_type.removeprefix("inlier_")
        config._attn_implementation = "eager" if kind == "bert" else "inlier"
        super().__init__(config, *args, **kwargs)
        options = config.inlier
        (softmax,) = options["attention"]["softmax"].items()
        attention, changed = options["attention"], []
        gate, heads = attention.get("gate", {}), config.num_attention_heads
        kv_heads, size = getattr(config, "num_key_value_heads", heads), config.hidden_size // heads
        for path, module in list(self.named_modules()):
            if "norm" in options and type(module).__name__ in ("LayerNorm", "LlamaRMSNorm"):
                parent, _, name = path.rpartition(".")
                setattr(self.get_submodule(parent), name, new_norm(module, options["norm"], options.get("norm_epsilon")))
            elif type(module).__name__ in ATTENTIONS:
                changed.append((path, module, type(module).__name__))
                if kind == "bert":
                    module.__class__ = InlierBertSelfAttention
                module.inlier_softmax, module.inlier_gate, module.inlier_rules, module.inlier_rounds_first = softmax, gate, {}, kind == "opt"
                module.inlier_head_size, module.inlier_prefix = size, attention.get("prefix_tokens", 0)
                if softmax[0] == "script":
                    module.__dict__["inlier_script"] = script_of(config, "softmax")
                if softmax[0] == "sink":
                    module.sinks = nn.Parameter(torch.zeros(heads))
                if attention.get("key_value_bias"):
                    module.bias_k, module.bias_v = nn.Parameter(torch.zeros(kv_heads, size)), nn.Parameter(torch.zeros(kv_heads, size))
                for name in NORMS.values() if attention.get("query_key_norm", "NO_NORM") != "NO_NORM" else ():
                    epsilon = epsilon_of(config, options)
                    rms = attention["query_key_norm"] == "HEAD_RMS"
                    setattr(module, name, InlierRMSNorm(size, epsilon, single=False) if rms else nn.LayerNorm(size, eps=epsilon))
                add_gate(module, config, gate, config.hidden_size, heads, kv_heads)
                if hasattr(module, "gate"):
                    module.register_forward_pre_hook(keep_input, with_kwargs=True)
        if options.get("patch_norm"):
            self.vit.embeddings.patch_embeddings.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
            self.vit.embeddings.patch_embeddings.register_forward_hook(norm_patches)
        rules = getattr(config, "inlier_quantization", None)
        if rules:
            if kind == "bert":
                self.bert.embeddings.__class__, self.bert.embeddings.inlier_rules = InlierBertEmbeddings, {}
            add_rounding(self, "opt post" if kind == "opt" and not config.do_layer_norm_before else kind, rules)
        for path, module, name in changed:
            change_projections(self, path, module, name)
        if options.get("registers"):
            self.vit.embeddings.register_tokens = nn.Parameter(torch.zeros(1, options["registers"], config.hidden_size))
            self.vit.embeddings.register_forward_hook(append_registers)


class InlierBertForMaskedLM(WithInlier, BertForMaskedLM):
    config_class = InlierBertConfig


class InlierBertForSequenceClassification(WithInlier, BertForSequenceClassification):
    config_class = InlierBertConfig


class InlierOPTForCausalLM(WithInlier, OPTForCausalLM):
    config_class = InlierOPTConfig


class InlierGPT2LMHeadModel(WithInlier, GPT2LMHeadModel):
    config_class = InlierGPT2Config


class InlierLlamaForCausalLM(WithInlier, LlamaForCausalLM):
    config_class = InlierLlamaConfig


class InlierViTForImageClassification(WithInlier, ViTForImageClassification):
    config_class = InlierViTConfig
