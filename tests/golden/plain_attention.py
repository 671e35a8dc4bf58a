"""Norms and one layer's attention by the formulas of the papers, one head after the other; for make_attention_cases.py."""
import math

import torch
from torch.nn.functional import silu


def layer_norm(x, gain, offset, eps):
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * gain + offset


def norm(p, name, x, eps):
    if name + ".shift" in p:
        y = p[name + ".weight"] * torch.erf(p[name + ".alpha"] * x + p[name + ".shift"]) + p[name + ".bias"]
    elif name + ".alpha" in p:
        y = p[name + ".weight"] * torch.tanh(p[name + ".alpha"] * x) + p[name + ".bias"]
    elif name + ".bias" in p:
        y = layer_norm(x, p[name + ".weight"], p[name + ".bias"], eps)
    else:
        y = p[name + ".weight"] * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()
    if name + ".gate_down.weight" not in p:
        return y
    return y * torch.sigmoid(silu(y @ p[name + ".gate_down.weight"].T) @ p[name + ".gate_up.weight"].T)


def rotate(x, theta):
    """x: (B, T, h)."""
    half = x.shape[-1] // 2
    frequencies = theta ** (-2 * torch.arange(half, dtype=torch.float64) / x.shape[-1])
    angles = torch.outer(torch.arange(x.shape[1], dtype=torch.float64), frequencies)
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat([x[..., :half] * cosine - x[..., half:] * sine, x[..., half:] * cosine + x[..., :half] * sine], -1)


def clip(p, gamma, case):
    y = gamma + (1 - gamma) * p
    case.distance = min(case.distance, y.detach()[p > 0].abs().min().item())
    return y.clamp(0, 1)


class Attention:
    """One layer's attention on x (B, T, d), in steps of one head. `visible`: (B, T, T), true where a query sees a key."""

    def __init__(self, case, scope, x, visible):
        self.case, self.p, self.scope, self.x, self.visible = case, case.p, scope, x, visible
        config, self.method = case.config, case.method
        self.heads, self.kv = config["H"], config.get("KV", config["H"])
        self.h = config["d"] // self.heads
        gate = self.method.get("projected_gate")
        self.place = gate["place"] if gate else None
        if gate:  # (B, T, n, h or 1)
            n = self.kv if self.place in ("KEY", "VALUE") else self.heads
            values = torch.sigmoid(x @ self.p[scope + "gate.weight"].T)
            values = values.reshape(*x.shape[:2], n, 1 if gate["granularity"] == "HEADWISE" else self.h)
            case.gates.append(values.permute(0, 2, 1, 3))
            self.factors = values * gate.get("output_factor", 1.0)

    def gated(self, place, head, y):
        return y * self.factors[:, :, head] if place == self.place else y

    def normed(self, name, y):
        return norm(self.p, self.scope + name, y, self.case.config["eps"]) if self.method.get("query_key_norm") else y

    def weights(self, scores):
        attention = self.method["attention"]
        p = scores.softmax(-1)
        if attention["kind"] == "ncs":  # n = the tokens of the run: the bias is none.
            return clip(p, (attention["beta"] - attention["zeta"]) / (self.x.shape[1] - 1), self.case)
        return p

    def context(self, query, key, value):
        """query (B, T, d), key and value (B, T, KV h) -> (B, T, d)."""
        contexts, probabilities = [], []
        for head in range(self.heads):
            served = head // (self.heads // self.kv)
            columns, kv_columns = slice(head * self.h, (head + 1) * self.h), slice(served * self.h, (served + 1) * self.h)
            q = self.normed("q_norm", self.gated("QUERY", head, query[..., columns]))
            k = self.normed("k_norm", self.gated("KEY", served, key[..., kv_columns]))
            v = self.gated("VALUE", served, value[..., kv_columns])
            if "theta" in self.case.config:
                q, k = rotate(q, self.case.config["theta"]), rotate(k, self.case.config["theta"])
            scores = (q @ k.transpose(1, 2) / math.sqrt(self.h)).masked_fill(~self.visible, -math.inf)
            if self.method.get("key_value_bias"):
                learned_key, learned_value = self.p[self.scope + "bias_k"][served], self.p[self.scope + "bias_v"][served]
                scores = torch.cat([scores, (q @ learned_key / math.sqrt(self.h)).unsqueeze(-1)], -1)
                v = torch.cat([v, learned_value.expand(v.shape[0], 1, -1)], 1)
            weights = self.weights(scores)
            probabilities.append(weights)
            contexts.append(self.gated("CONTEXT", head, weights @ v))
        self.case.probabilities.append(torch.stack(probabilities, 1))
        return torch.cat(contexts, -1)

    def output(self, y):
        return torch.cat([self.gated("OUTPUT", i, y[..., i * self.h:(i + 1) * self.h]) for i in range(self.heads)], -1)
