#!/usr/bin/env python3
"""Writes the cases of Muon and SOAP into optim/: their formulas in plain NumPy, as the headers of core/optim give them.

    python3 tests/golden/make_optim_cases.py          # needs NumPy

The problem is that of the other cases: an embedding, a tanh layer, a norm with gains and a linear layer; the loss is the
mean squared error. Its sizes make every preconditioner of full rank, because the eigenvectors of a null space are any.
"""
import json
import math
import pathlib
import struct

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent / "optim"
STEPS = 20
MATRICES = ["fc1.weight", "fc2.weight"]


def loss_and_gradients(p, indices, targets):
    x = p["emb.weight"][indices]
    h = np.tanh(x @ p["fc1.weight"].T + p["fc1.bias"])
    root = np.sqrt((h * h).mean(-1, keepdims=True) + h.dtype.type(1e-5))
    n = h / root
    error = (p["norm.weight"] * n) @ p["fc2.weight"].T - targets
    dy = 2 * error / error.size
    g = {"fc2.weight": dy.T @ (p["norm.weight"] * n)}
    da = dy @ p["fc2.weight"]
    g["norm.weight"] = (da * n).sum(0)
    dn = da * p["norm.weight"]
    dh = (dn - n * (dn * n).mean(-1, keepdims=True)) / root
    dz = dh * (1 - h * h)
    g["fc1.bias"] = dz.sum(0)
    g["fc1.weight"] = dz.T @ x
    g["emb.weight"] = np.zeros_like(p["emb.weight"])
    np.add.at(g["emb.weight"], indices, dz @ p["fc1.weight"])
    return float((error * error).mean()), g


class AdamW:
    def __init__(self, method):
        self.method, self.t, self.m, self.v = method, 0, {}, {}

    def step(self, p, g, names, rate):
        b1, b2 = self.method["betas"]
        self.t += 1
        for name in names:
            if name in self.method["decayed"]:
                p[name] = p[name] * (1 - rate * self.method["weight_decay"])
            self.m[name] = b1 * self.m.get(name, 0) + (1 - b1) * g[name]
            self.v[name] = b2 * self.v.get(name, 0) + (1 - b2) * g[name] ** 2
            root = np.sqrt(self.v[name] / (1 - b2**self.t)) + self.method["eps"]
            p[name] = p[name] - rate * (self.m[name] / (1 - b1**self.t)) / root


class Muon:
    def __init__(self, method):
        self.method, self.b, self.adamw = method, {}, AdamW(method)

    def step(self, p, g, rate):
        mu = self.method["momentum"]
        for name in self.method["matrices"]:
            self.b[name] = mu * self.b.get(name, 0) + g[name]
            x = g[name] + mu * self.b[name] if self.method["nesterov"] else self.b[name]
            x = x / (np.sqrt((x * x).sum()) + 1e-7)
            for _ in range(self.method["newton_schulz_steps"]):
                a = x @ x.T
                x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
            if name in self.method["decayed"]:
                p[name] = p[name] * (1 - rate * self.method["weight_decay"])
            p[name] = p[name] - rate * self.method["update_scale"] * math.sqrt(max(x.shape)) * x
        self.adamw.step(p, g, [n for n in p if n not in self.method["matrices"]], rate)


class Soap:
    def __init__(self, method):
        self.method, self.t, self.state, self.adamw = method, -1, {}, AdamW(method)

    def step(self, p, g, rate):
        self.t += 1
        names = [name for name in p if p[name].ndim == 2]
        for name in names:
            if self.t == 0:
                sizes = p[name].shape
                self.state[name] = {
                    "m": np.zeros_like(p[name]), "v": np.zeros_like(p[name]), "Q": [None, None],
                    "L": [np.zeros((n, n), p[name].dtype) if n <= self.method["max_size"] else None for n in sizes]}
            self.update(p, name, g[name], rate)
        self.adamw.step(p, g, [name for name in p if name not in names], rate)

    @staticmethod
    def turn(x, q, back=False):
        if q[0] is not None:
            x = (q[0] if back else q[0].T) @ x
        if q[1] is not None:
            x = x @ (q[1].T if back else q[1])
        return x

    def update(self, p, name, g, rate):
        s, method = self.state[name], self.method
        b1, b2 = method["betas"]
        if self.t > 0:
            turned = self.turn(g, s["Q"])
            s["m"] = b1 * s["m"] + (1 - b1) * turned
            s["v"] = b2 * s["v"] + (1 - b2) * turned**2
            size = rate * math.sqrt(1 - b2**self.t) / (1 - b1**self.t)
            p[name] = p[name] - size * self.turn(s["m"] / (np.sqrt(s["v"]) + method["eps"]), s["Q"], back=True)
            if name in method["decayed"]:
                p[name] = p[name] * (1 - rate * method["weight_decay"])
        for axis, factor in enumerate((g, g.T)):
            if s["L"][axis] is not None:
                beta = method["shampoo_beta"]
                s["L"][axis] = beta * s["L"][axis] + (1 - beta) * (factor @ factor.T)
        if self.t == 0:
            for axis in (0, 1):
                if s["L"][axis] is not None:
                    vectors = np.linalg.eigh(s["L"][axis].astype(np.float64))[1]
                    s["Q"][axis] = vectors[:, ::-1].astype(g.dtype)
        elif self.t % method["refresh_every"] == 0:
            m = self.turn(s["m"], s["Q"], back=True)
            for axis in (0, 1):
                q = s["Q"][axis]
                if q is None:
                    continue
                order = np.argsort(-np.diag(q.T @ s["L"][axis] @ q), kind="stable")
                s["v"] = np.take(s["v"], order, axis)
                s["Q"][axis] = np.linalg.qr(s["L"][axis] @ q[:, order])[0]
            s["m"] = self.turn(m, s["Q"])


def run(config, method, dtype):
    rng = np.random.default_rng(config["seed"])
    shapes = {"emb.weight": (config["V"], config["E"]), "fc1.weight": (config["H1"], config["E"]),
              "fc1.bias": (config["H1"],), "norm.weight": (config["H1"],), "fc2.weight": (config["OUT"], config["H1"])}
    initial = {name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    initial["norm.weight"] += np.float32(1)
    indices = rng.integers(0, config["V"], (STEPS, config["B"]))
    targets = rng.normal(0, 1, (STEPS, config["B"], config["OUT"])).astype(np.float32)
    optimizer = {"Muon": Muon, "SOAP": Soap}[method["optimizer"]](method)
    p = {name: value.astype(dtype) for name, value in initial.items()}
    trajectory, losses, norms = {name: [value] for name, value in p.items()}, [], []
    for step in range(STEPS):
        loss, g = loss_and_gradients(p, indices[step], targets[step].astype(dtype))
        norm = math.sqrt(sum(float((x.astype(np.float64) ** 2).sum()) for x in g.values()))
        losses.append(loss)
        norms.append(norm)
        if method.get("clip_global_norm"):
            g = {name: (x * min(1, method["clip_global_norm"] / (norm + 1e-6))).astype(dtype) for name, x in g.items()}
        optimizer.step(p, g, method["lr"])
        for name in p:
            p[name] = p[name].astype(dtype)
            trajectory[name].append(p[name])
    tensors = {"input/indices": indices, "input/targets": targets}
    tensors |= {f"param/{name}": value for name, value in initial.items()}
    tensors |= {f"traj/{name}": np.stack(values) for name, values in trajectory.items()}
    return tensors, losses, norms


def write_safetensors(path, tensors):
    kinds = {"int64": "I64", "float32": "F32", "float64": "F64"}
    header, data = {}, b""
    for name, value in tensors.items():
        raw = np.ascontiguousarray(value).tobytes()
        header[name] = {"dtype": kinds[str(value.dtype)], "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write(name, config, method):
    tensors, losses, norms = run(config, method, np.float64)
    rounded = run(config, method, np.float32)
    error = {"param_abs": max(float(np.abs(rounded[0][key] - value).max()) for key, value in tensors.items() if key.startswith("traj/")),
             "loss_abs": max(abs(a - b) for a, b in zip(losses, rounded[1]))}
    case = {"case": name, "group": "optim", "config": config | {"steps": STEPS}, "method": method,
            "expected": {"loss_before_each_step": losses, "grad_global_norm_before_clipping": norms, "lr_each_step": None},
            "measured_float32_error": error,
            "tolerances": {"float32": {key: max(2e-5, 20 * value) for key, value in error.items()},
                           "float64": {"param_abs": 1e-11, "loss_abs": 1e-11}},
            "made_with": {"numpy": np.__version__, "script": "tests/golden/make_optim_cases.py"}}
    (FOLDER / f"{name}.json").write_text(json.dumps(case, indent=1) + "\n")
    write_safetensors(FOLDER / f"{name}.safetensors", tensors)
    print(name, "float32 error", error)


def main():
    decayed = ["emb.weight", "fc1.weight", "fc2.weight"]
    adamw = {"lr": 0.02, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1, "decayed": decayed}
    muon = adamw | {"optimizer": "Muon", "momentum": 0.95, "nesterov": True, "newton_schulz_steps": 5,
                    "update_scale": 0.2, "matrices": MATRICES}
    sizes = {"V": 11, "E": 6, "H1": 8, "OUT": 3, "B": 24, "seed": 700}
    write("muon", sizes, muon)
    write("muon_plain_momentum_clip", sizes, muon | {"nesterov": False, "momentum": 0.8, "newton_schulz_steps": 3,
                                                     "update_scale": 1, "clip_global_norm": 0.3})
    soap = adamw | {"optimizer": "SOAP", "shampoo_beta": 0.8, "refresh_every": 3, "eps": 1e-4}
    square = {"V": 11, "E": 8, "H1": 8, "OUT": 8, "B": 64, "seed": 701}
    write("soap", square, soap | {"max_size": 8})
    write("soap_refreshed_each_update", square, soap | {"max_size": 8, "refresh_every": 1, "betas": [0.5, 0.8]})
    write("soap_one_sided", sizes, soap | {"max_size": 6})


if __name__ == "__main__":
    main()
