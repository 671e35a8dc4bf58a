#!/usr/bin/env python3
"""transformers loads our exports and gives our logits, we load its models and give its logits (all five architectures and BERT as a classifier), and analyze one."""
import atexit
import functools
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_MODULES_CACHE"] = tempfile.mkdtemp()  # Copies of the exports' Python files.
import torch
import transformers
from safetensors.torch import load_file, save_file

import own_scripts

INLIER = pathlib.Path(os.environ["INLIER_BIN"]) / "inlier"
HUB_TOOL = pathlib.Path(os.environ["INLIER_HUB_TOOL"])
VOCABULARY = pathlib.Path(__file__).resolve().parents[1] / "golden/tokenizers/bert-base-uncased-vocab.txt"
TOLERANCE = 1e-5  # Of the largest logit.

# Every kind of model that transformers can express, in our words.
OURS = {
    "bert": "model { bert {} }",
    "bert without positions, ReLU": "model { bert { position: NONE activation: RELU } }",
    "opt": "model { opt {} }",
    "opt, post-LN, projections": "model { opt { norm_placement: POST embedding_size: 8 } }",
    "gpt2": "model { gpt2 {} }",
    "gpt2 without biases and positions, untied": "model { gpt2 { biases: false tied_head: false position: NONE } }",
    "llama, grouped keys": "model { llama { kv_heads: 2 rotary_theta: 500 } } norm: RMS_NORM_M",
    "llama, one gain, biases, tied": "model { llama { biases: true tied_head: true } } norm: RMS_NORM_S",
    "llama, its own head size, Llama 3's angles": "model { llama { head_size: 8 rotary_scaling { llama3 { factor: 4 original_positions: 8 } } } } norm: RMS_NORM_M",
    "llama, linear angles, biases of the attention": "model { llama { biases: true ffn_biases: false rotary_scaling { linear { factor: 3 } } } } norm: RMS_NORM_M",
    "llama, YaRN": "model { llama { rotary_scaling { yarn { factor: 2 original_positions: 8 } } } } norm: RMS_NORM_M",
    "llama, dynamic": "model { llama { rotary_scaling { dynamic { factor: 2 original_positions: 8 } } } } norm: RMS_NORM_M",
    "qwen2": "model { llama { kv_heads: 2 qkv_biases: true } } norm: RMS_NORM_M",
    "mistral": "model { llama { window: 3 } } norm: RMS_NORM_M",
    "vit": "model { vit {} }",
    "bert, five classes": "model { bert {} } data { classification {} }",
    "bert, a number": "model { bert {} } data { classification { target: NUMBER } }",
}

# Parts that transformers has not, and loads with trust_remote_code.
OWN_PARTS = {
    "bert, clipped": "model { bert {} } attention { softmax { clipped { gamma: -0.03 } } }",
    "bert, clipped by alpha": "model { bert {} } attention { softmax { clipped { alpha: 1.6 zeta: 1.01 } } } data { text { sequence_length: 12 } }",
    "bert, normalized clipped, padded": "model { bert {} } attention { softmax { ncs { beta: -2.175 length: UNPADDED } } }",
    "bert, softmax-1, RMSNorm-S": "model { bert {} } attention { softmax { softmax_n {} } } norm: RMS_NORM_S",
    "bert, sigmoid": "model { bert {} } attention { softmax { sigmoid {} } }",
    "opt, relu": "model { opt {} } attention { softmax { relu {} } }",
    "bert, a gate a head": "model { bert {} } attention { gate { linear {} } }",
    "bert, pooled networks, softpick": "model { bert {} } attention { softmax { softpick {} } gate { mlp { hidden_size: 3 } pooled: true } }",
    "bert, clipped, three classes": "model { bert {} } attention { softmax { clipped { gamma: -0.03 } } } data { classification {} }",
    "opt, clipped, RMSNorm-M": "model { opt {} } attention { softmax { clipped { gamma: -0.03 zeta: 1.003 } } } norm: RMS_NORM_M",
    "opt, normalized clipped": "model { opt {} } attention { softmax { ncs { beta: 0.9 length: ROW } } }",
    "opt, softmax-1, epsilon": "model { opt { norm_epsilon: 1e-3 } } attention { softmax { softmax_n { n: 2 } } }",
    "opt, sinks, all heads' gate": "model { opt {} } attention { softmax { sink {} } gate { all_heads_linear {} } }",
    "opt, post-LN, unconditional gate": "model { opt { norm_placement: POST embedding_size: 8 } } attention { gate { unconditional {} output_factor: 2 } }",
    "gpt2, softpick, RMSNorm-S": "model { gpt2 { biases: false } } attention { softmax { softpick {} } } norm: RMS_NORM_S",
    "gpt2, clipped, networks": "model { gpt2 {} } attention { softmax { clipped { gamma: -0.03 } } gate { mlp { hidden_size: 4 } } }",
    "llama, softmax-1, gates, one gain": "model { llama { kv_heads: 2 } } attention { softmax { softmax_n {} } gate { linear {} } } norm: RMS_NORM_S",
    "llama, sigmoid, LayerNorm": "model { llama {} } attention { softmax { sigmoid {} } } norm: LAYER_NORM",
    "vit, clipped, gates, patch norm": "model { vit { patch_norm: true } } attention { softmax { clipped { gamma: -0.03 } } gate { linear {} } }",
    "bert, norm of queries and keys": "model { bert {} } attention { query_key_norm: HEAD_LAYER }",
    "bert, key and value bias, normalized clipped, padded": "model { bert {} } attention { key_value_bias: true softmax { ncs { beta: -2.175 length: UNPADDED } } }",
    "bert, gated output": "model { bert {} } attention { gate { projected { place: OUTPUT } } }",
    "opt, key and value bias, gated values": "model { opt {} } attention { key_value_bias: true gate { projected { place: VALUE granularity: HEADWISE } } }",
    "opt, norm, epsilon, gated output": "model { opt { norm_epsilon: 1e-3 } } attention { query_key_norm: HEAD_RMS gate { projected { place: OUTPUT granularity: HEADWISE } } }",
    "gpt2, gated keys, norm": "model { gpt2 {} } attention { query_key_norm: HEAD_LAYER gate { projected { place: KEY } } }",
    "gpt2, gated queries, sigmoid and bias": "model { gpt2 {} } attention { key_value_bias: true softmax { sigmoid {} } gate { projected { place: QUERY granularity: HEADWISE } } }",
    "llama, norm, bias, gated context": "model { llama { kv_heads: 2 } } attention { query_key_norm: HEAD_RMS key_value_bias: true gate { projected {} } } norm: RMS_NORM_M",
    "llama, gated keys": "model { llama { kv_heads: 2 } } attention { gate { projected { place: KEY granularity: HEADWISE } output_factor: 2 } } norm: RMS_NORM_S",
    "gpt2, prefix": "model { gpt2 {} } attention { prefix_tokens: 4 }",
    "llama, prefix, clipped": "model { llama { kv_heads: 2 } } attention { prefix_tokens: 3 softmax { clipped { gamma: -0.03 } } }",
    "vit, registers, gated heads": "model { vit { registers: 3 patch_norm: true } } attention { query_key_norm: HEAD_RMS gate { projected { granularity: HEADWISE } } }",
    "bert, scripts, padded": "model { bert {} } attention { key_value_bias: true softmax { script { file: '@softmax' } } gate { script { file: '@gate' } output_factor: 2 } }",
    "gpt2, scripts": "model { gpt2 {} } attention { softmax { script { file: '@softmax' } } gate { script { file: '@gate' } } }",
    "vit, normalized clipped": "model { vit { position: NONE } } attention { softmax { ncs { beta: 0.5 length: RUN } } }",
}
W8A8 = "weights { bits: 8 } activations { bits: 8 }"
QUANTIZED = {
    "bert": f"model {{ bert {{}} }} quantization {{ {W8A8} reference {{}} }}",
    "bert, clipped, rows": f"model {{ bert {{}} }} attention {{ softmax {{ clipped {{ gamma: -0.03 }} }} }} quantization {{ weights {{ bits: 6 per_channel: true }} activations {{ bits: 8 }} reference {{}} }}",
    "opt, gated, head too": f"model {{ opt {{}} }} attention {{ gate {{ linear {{}} }} }} quantization {{ {W8A8} reference {{ setup: ALL }} }}",
    "opt, post-LN": f"model {{ opt {{ norm_placement: POST embedding_size: 8 }} }} quantization {{ {W8A8} reference {{}} }}",
    "bert, gated, normed": f"model {{ bert {{}} }} attention {{ query_key_norm: HEAD_RMS key_value_bias: true gate {{ projected {{ place: VALUE }} }} }} quantization {{ {W8A8} reference {{}} }}",
    "vit, registers": f"model {{ vit {{ registers: 2 }} }} quantization {{ {W8A8} reference {{ setup: ALL }} }}",
    "vit": f"model {{ vit {{ patch_norm: true }} }} quantization {{ {W8A8} reference {{ setup: ALL }} }}",
    "gpt2, absmax by token": f"model {{ gpt2 {{}} }} quantization {{ {W8A8} absmax {{ granularity: FINE }} }}",
    "gpt2, absmax, outputs too": f"model {{ gpt2 {{}} }} quantization {{ {W8A8} absmax {{ granularity: COARSE calibrated: true head: true }} }}",
    "llama, zero point": f"model {{ llama {{ kv_heads: 2 }} }} norm: RMS_NORM_M quantization {{ {W8A8} zeropoint {{}} }}",
    "bert, absmax": f"model {{ bert {{}} }} quantization {{ {W8A8} absmax {{ granularity: MODERATE }} }}",
    "opt, weights": "model { opt {} } quantization { weights { bits: 4 } zeropoint {} }",
}

SIZES = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4)


def theirs():
    """Models of transformers with its own random weights."""
    yield "bert", transformers.BertForMaskedLM(transformers.BertConfig(**SIZES, intermediate_size=24, vocab_size=31, max_position_embeddings=12))
    yield "opt", transformers.OPTForCausalLM(transformers.OPTConfig(**SIZES, ffn_dim=24, vocab_size=31, max_position_embeddings=12, word_embed_proj_dim=8))
    yield "gpt2", transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=16, n_layer=2, n_head=4, vocab_size=31, n_positions=12, bos_token_id=0, eos_token_id=0))
    yield "llama", transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES, num_key_value_heads=2, intermediate_size=24, vocab_size=31, max_position_embeddings=12))
    for name, labels in (("bert, three classes", 3), ("bert, two classes", 2), ("bert, a number", 1)):
        yield name, transformers.BertForSequenceClassification(transformers.BertConfig(**SIZES, intermediate_size=24, vocab_size=31, max_position_embeddings=12,
                                                                                        num_labels=labels))
    yield "vit", transformers.ViTForImageClassification(transformers.ViTConfig(**SIZES, intermediate_size=24, image_size=8, patch_size=4, num_labels=5))


def load(folder, **arguments):
    config = transformers.AutoConfig.from_pretrained(folder, **arguments)
    auto = {"bert": transformers.AutoModelForMaskedLM, "vit": transformers.AutoModelForImageClassification}.get(config.model_type.removeprefix("inlier_"),
                                                                                                              transformers.AutoModelForCausalLM)
    if config.architectures[0].endswith("BertForSequenceClassification"):
        auto = transformers.AutoModelForSequenceClassification
    model, report = auto.from_pretrained(folder, output_loading_info=True, **arguments)
    return model.eval(), report


def some_input(spec, padded=False):
    if "vit {" in spec:
        return {"pixels": torch.randn(2, 3, 8, 8)}
    tensors = {"ids": torch.randint(2, 31, (2, 10))}
    if padded:
        tensors["attention_mask"] = torch.ones(2, 10, dtype=torch.int64)
        tensors["attention_mask"][1, 6:] = 0
    return tensors


def logits_of(model, tensors):
    names = {"pixels": "pixel_values", "ids": "input_ids"}
    with torch.no_grad():
        return model(**{names.get(name, name): tensor for name, tensor in tensors.items()}).logits


def difference(ours, theirs):
    return ((ours - theirs).abs().max() / theirs.abs().max()).item()


class TransformersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """One process of the tool for all its calls, which are many: loading LibTorch takes longer than each."""
        cls.tool = subprocess.Popen([HUB_TOOL, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.tool.communicate)
        cls.scripts = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        own_scripts.save(own_scripts.own_softmax, cls.scripts / "softmax")
        own_scripts.save(own_scripts.OwnGate(4), cls.scripts / "gate")

    def setUp(self):
        torch.manual_seed(1)
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_tool(self, *arguments):
        print(*arguments, sep="\t", file=self.tool.stdin, flush=True)
        self.assertEqual("\n", self.tool.stdout.readline())

    def compare(self, folder, model):
        """Our logits of the model in `folder` against those of `model`, which is transformers'."""
        vision = model.config.model_type == "vit"
        tensors = {"pixels": torch.randn(2, 3, 8, 8)} if vision else {"ids": torch.randint(2, 31, (2, 10))}
        other = {}
        if isinstance(model, transformers.BertForSequenceClassification):  # Pairs, one of them padded.
            other = {"attention_mask": torch.ones(2, 10, dtype=torch.int64), "token_type_ids": torch.zeros(2, 10, dtype=torch.int64)}
            other["attention_mask"][1, 7:] = 0
            other["token_type_ids"][:, 4:] = 1
        tensors.update(other)
        save_file(tensors, self.folder / "in")
        self.run_tool("logits", folder, self.folder / "in", self.folder / "out")
        with torch.no_grad():
            expected = model(pixel_values=tensors["pixels"]).logits if vision else model(input_ids=tensors["ids"], **other).logits
        difference = (load_file(self.folder / "out")["logits"] - expected).abs().max() / expected.abs().max()
        self.assertLess(difference.item(), TOLERANCE)
        return difference.item()

    def test_transformers_loads_our_exports_and_gives_our_logits(self):
        for name, spec in OURS.items():
            with self.subTest(name):
                (self.folder / "spec.txt").write_text(spec)
                self.run_tool("make", self.folder / "spec.txt", self.folder / "model")
                model, report = load(self.folder / "model")
                self.assertEqual([], sorted(report["missing_keys"]) + sorted(report["unexpected_keys"]))
                if "classification" in spec:
                    number = "NUMBER" in spec
                    self.assertEqual(("regression", 1) if number else ("single_label_classification", 5), (model.config.problem_type, model.config.num_labels))
                print(f"ours, read by transformers: {name}: {self.compare(self.folder / 'model', model):.1e}")

    def own_parts(self, number, name, spec):
        """The exported model as transformers loads it, its logits and ours. A folder each: transformers keeps modules by the folder's name."""
        spec = spec.replace("@", f"{self.scripts}/")
        folder, tensors = self.folder / f"own-{number}", some_input(spec, padded="padded" in name)
        (self.folder / "spec.txt").write_text(spec)
        save_file(tensors, self.folder / "in")
        self.run_tool("make", self.folder / "spec.txt", folder, self.folder / "in", self.folder / "out")
        model, report = load(folder, trust_remote_code=True)
        self.assertEqual([], sorted(report["missing_keys"]) + sorted(report["unexpected_keys"]))
        return folder, model, logits_of(model, tensors), load_file(self.folder / "out")["logits"]

    def test_models_with_our_own_parts_load_with_trust_remote_code(self):
        for number, (name, spec) in enumerate(OWN_PARTS.items()):
            with self.subTest(name):
                folder, model, theirs, ours = self.own_parts(number, name, spec)
                print(f"own parts: {name}: {difference(ours, theirs):.1e}")
                self.assertLess(difference(ours, theirs), TOLERANCE)
                # The parts are in use: without them the logits are others.
                for module in model.modules():
                    if hasattr(module, "inlier_softmax"):
                        module.inlier_softmax = ("vanilla", {})
                        module.inlier_gate = {"output_factor": 3.0}
                        module.inlier_prefix = 0
                for name, parameter in model.named_parameters():
                    if name.endswith(("q_norm.weight", "bias_v", "register_tokens")):
                        parameter.data.mul_(100)
                self.assertGreater(difference(logits_of(model, load_file(self.folder / "in")), ours), 10 * TOLERANCE)
                # We read the folder back as the same model.
                self.run_tool("logits", folder, self.folder / "in", self.folder / "again")
                self.assertLess(difference(load_file(self.folder / "again")["logits"], ours), TOLERANCE)
        with self.assertRaisesRegex(ValueError, "trust_remote_code"):
            transformers.AutoModelForMaskedLM.from_pretrained(self.folder / "own-0", trust_remote_code=False)
        model = transformers.AutoModelForMaskedLM.from_pretrained(self.folder / "own-0", trust_remote_code=True)
        model.save_pretrained(self.folder / "saved")
        again = transformers.AutoModelForMaskedLM.from_pretrained(self.folder / "saved", trust_remote_code=True)
        tensors = {"ids": torch.randint(2, 31, (2, 10))}
        self.assertTrue(torch.equal(logits_of(model.eval(), tensors), logits_of(again.eval(), tensors)), "saved by transformers and loaded again")

    def test_quantized_models_round_as_we_do(self):
        for number, (name, spec) in enumerate(QUANTIZED.items(), 100):
            with self.subTest(name):
                folder, model, theirs, ours = self.own_parts(number, name, spec)
                print(f"quantized: {name}: {difference(ours, theirs):.1e}")
                # A sum that float32 rounds the other way may take the next step of a grid, and moves a few logits.
                self.assertLess((ours - theirs).abs().median() / theirs.abs().max(), TOLERANCE)
                self.assertLess(difference(ours, theirs), 0.02)
                self.run_tool("logits", folder, self.folder / "in", self.folder / "float")
                self.assertGreater(difference(load_file(self.folder / "float")["logits"], ours), max(1e-4, 20 * difference(ours, theirs)))

    def test_we_load_its_models_and_give_its_logits(self):
        for name, model in theirs():
            with self.subTest(name):
                for parameter in model.parameters():
                    torch.nn.init.normal_(parameter, 0, 0.2)
                model.eval().save_pretrained(self.folder / name)
                print(f"transformers', read by us: {name}: {self.compare(self.folder / name, model):.1e}")

    def test_analyze_reports_outliers_and_every_setting(self):
        """A random GPT-2 of the published vocabulary's size, with one channel of the residual stream made an outlier."""
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=16, n_layer=2, n_head=4, vocab_size=50257, n_positions=32))
        torch.nn.init.normal_(model.transformer.h[0].mlp.c_proj.weight, 0, 0.2)
        with torch.no_grad():
            model.transformer.h[0].mlp.c_proj.bias[3] = 60.0
        model.save_pretrained(self.folder / "model")
        (self.folder / "text.txt").write_text("".join(f"In the beginning God created the heaven and the earth, {i}.\n" for i in range(4000)))

        tokenizer = []

        def analyze(*arguments):
            done = subprocess.run([INLIER, "analyze", self.folder / "model", "--text", self.folder / "text.txt", "--sequence-length", "32", "--batches", "2",
                                   "--dir", self.folder / "state", *tokenizer, *arguments], capture_output=True, text=True)
            return done

        refused = analyze()
        self.assertNotEqual(0, refused.returncode)
        self.assertIn("has no tokenizer (tokenizer.json, vocab.txt, or vocab.json and merges.txt)", refused.stderr)
        self.assertIn("--tokenizer '{gpt2: {}}'", refused.stderr)
        tokenizer += ["--tokenizer", "{gpt2: {}}"]
        done = analyze("--json")
        self.assertEqual(0, done.returncode, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(("gpt2", 2, True), tuple(report["model"][key] for key in ("architecture", "layers", "has_head")))
        settings = {setting["name"]: setting["measurements"] for setting in report["settings"]}
        self.assertEqual(["float", "W8A8 absmax FINE", "W8A8 absmax MODERATE", "W8A8 absmax COARSE", "W4 zeropoint"], list(settings))
        self.assertGreater(settings["float"]["max_inf_norm"], 55)
        self.assertLess(settings["W8A8 absmax FINE"]["hidden_change"], settings["W8A8 absmax COARSE"]["hidden_change"])
        self.assertGreater(settings["W8A8 absmax FINE"]["sentence_similarity"], 0.99)
        people = analyze()
        for words in ("gpt2, 2 layers", "max_inf_norm", "W4 zeropoint", "perplexity"):
            self.assertIn(words, people.stdout)

        done = analyze("--json", "--all-methods", "--quantization", "{weights: {bits: 3}, zeropoint: {}, gptq: {}}")
        self.assertEqual(0, done.returncode, done.stderr)
        report = json.loads(done.stdout)
        names = [setting["name"] for setting in report["settings"]]
        self.assertEqual(["float", "W3 zeropoint gptq"], names[:2])
        self.assertLess({"W8A8 absmax FINE smoothing", "W4A4 absmax FINE gptq", "W4A4 absmax FINE awq", "W8A8 FP8_E4M3 absmax FINE", "W4A4 NVFP4 absmax FINE", "W4A4KV4 absmax FINE", "W4A4 absmax FINE rotation gptq", "W4A4KV4 absmax FINE rotation KV"}, set(names))
        self.assertEqual(len(names), len(set(names)))
        reasons = {method["name"]: method["reason"] for method in report["left_out"]}
        self.assertIn("it has no model.gpt2", reasons["W4A4"])
        refused = analyze("--quantization", "{weights: {bit: 3}}")
        self.assertNotEqual(0, refused.returncode)
        self.assertIn("--quantization:1:12: weights.bit", refused.stderr)

        transformers.BertModel(transformers.BertConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=4)).save_pretrained(self.folder / "model")
        tokenizer[:] = ["--tokenizer", "{wordpiece: {}}"]
        refused = analyze("--sensitivity", "1")
        self.assertEqual(6, refused.returncode, refused.stderr)
        self.assertIn("has no head that predicts tokens", refused.stderr)

        self.assertIn("quantization.rotation: is not for model.bert", analyze("--quantization", "{weights: {bits: 4}, absmax: {}, rotation: {}}").stderr)
        refused = analyze("--images", self.folder)
        self.assertIn("reads text; leave --images out", refused.stderr)

        (self.folder / "model" / "config.json").write_text('{"model_type": "mamba"}')
        refused = analyze()
        self.assertEqual(6, refused.returncode)
        self.assertIn('config.json: model_type: is not known: bert, ', refused.stderr)

    def test_analyze_reads_images(self):
        """A random ViT with a large channel; loss and accuracy only where its classes are those of the images."""
        images = self.folder / "images"
        images.mkdir()
        for part, count in (("train", 24), ("t10k", 16)):
            pixels = bytes(random.Random(part).randrange(256) for _ in range(count * 64))
            (images / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, 8, 8) + pixels)
            (images / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + bytes(i % 5 for i in range(count)))

        def analyze(classes, *arguments):
            config = transformers.ViTConfig(**SIZES, intermediate_size=24, image_size=8, patch_size=4, num_channels=1, num_labels=classes)
            torch.manual_seed(1)
            model = transformers.ViTForImageClassification(config)
            with torch.no_grad():
                model.vit.encoder.layer[0].output.dense.bias[3] = 60.0
            model.save_pretrained(self.folder / "vit")
            return subprocess.run([INLIER, "analyze", self.folder / "vit", "--batches", "2", "--dir", self.folder / "state", *arguments], capture_output=True, text=True)

        refused = analyze(5)
        self.assertEqual(6, refused.returncode)
        self.assertIn("reads images; name a folder or data set of them: --images", refused.stderr)
        done = analyze(5, "--images", images, "--json")
        self.assertEqual(0, done.returncode, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(("vit", True, 16, 5), tuple(report["model"][key] for key in ("architecture", "has_head", "sequences", "sequence_length")))
        settings = {setting["name"]: setting["measurements"] for setting in report["settings"]}
        self.assertEqual(["float", "W8A8", "W6A8", "W4A8", "W6A6"], list(settings))
        self.assertGreater(settings["float"]["max_inf_norm"], 55)
        self.assertIn("accuracy", settings["W8A8"])
        people = analyze(7, "--images", images)
        self.assertEqual(0, people.returncode, people.stderr)
        self.assertIn("without a head that predicts these classes\n16 images of 5 tokens\n", people.stdout)
        self.assertNotIn("accuracy", people.stdout)
        (self.folder / "vit" / "preprocessor_config.json").write_text(json.dumps({"do_normalize": True, "image_mean": [0.3], "image_std": [0.5]}))
        refused = analyze(5, "--images", images)
        self.assertEqual(6, refused.returncode, refused.stdout)
        self.assertIn("preprocessor_config.json: image_mean: is not that of data.images.pixel_scale HALF", refused.stderr)


SWEEP = """
name: exports
base:
  data: {text: {path: TEXT, tokenizer: {byte_pair: {vocab_size: 300}}, sequence_length: 16}}
  training: {steps: 4, batch_size: 4}
  evaluation: {batches: 2, batch_size: 8}
  attention: {softmax: {clipped: {gamma: -0.03}}}
axes:
  - name: model
    variants:
      - {label: BERT, set: {model: {bert: {layers: 2, hidden_size: 32, heads: 4, ffn_size: 64, max_positions: 64}}}}
      - {label: OPT, set: {model: {opt: {layers: 2, hidden_size: 32, heads: 4, ffn_size: 64, max_positions: 64}}}}
      - label: WordPiece
        set:
          model: {bert: {layers: 1, hidden_size: 16, heads: 4, ffn_size: 16, max_positions: 64, vocab_size: 30522}}
          data: {text: {tokenizer: {wordpiece: {vocab: VOCAB}}}}
      - label: scripts
        set:
          model: {bert: {layers: 2, hidden_size: 32, heads: 4, ffn_size: 64, max_positions: 64}}
          attention: {softmax: {script: {file: SOFTMAX}}, gate: {script: {file: GATE}}}
  - name: bits
    variants:
      - {label: float, set: {}}
      - {label: W8A8, set: {quantization: {weights: {bits: 8}, activations: {bits: 8}, calibration: {batches: 2, batch_size: 4}}}}
"""
LINES = ["In the beginning God created the heaven and the earth.", "  [MASK] is text here, and so is </s>; it's 1611,\ttabs", "Über naïve 日本 🙂 don't", "x"]


class ExportTest(unittest.TestCase):
    """Trials of a small sweep, exported by `inlier export`, then loaded by transformers and measured by `inlier analyze`."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.text = cls.folder / "text.txt"
        cls.text.write_text("".join(f"{number} {LINES[number % 3]}\n" for number in range(600)))
        vocabulary = shutil.copy(VOCABULARY, cls.folder)  # A worker reads data from its folders and the sweep's alone.
        cls.softmax, gate = cls.folder / "softmax.pt", cls.folder / "gate.pt"
        own_scripts.save(own_scripts.own_softmax, cls.softmax)
        own_scripts.save(own_scripts.OwnGate(8), gate)
        named = {"TEXT": cls.text, "VOCAB": vocabulary, "SOFTMAX": cls.softmax, "GATE": gate}
        (cls.folder / "sweep.yaml").write_text(functools.reduce(lambda text, name: text.replace(name, str(named[name])), named, SWEEP))
        cls.inlier("run", cls.folder / "sweep.yaml")
        cls.trials = {(model, bits): trial for trial, model, bits in cls.sql("SELECT trial, labels->>'model', labels->>'bits' FROM trials")}

    @classmethod
    def inlier(cls, *arguments, status=0, **options):
        done = subprocess.run([INLIER, *map(str, arguments), "--dir", cls.folder / "state"], capture_output=True, text=True, **options)
        assert done.returncode == status, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    @classmethod
    def sql(cls, statement):
        return [tuple(row.values()) for row in json.loads(cls.inlier("query", statement, "--json").stdout)]

    def export(self, model, bits):
        folder = self.folder / f"{model}-{bits}"
        if not folder.exists():
            self.inlier("export", self.trials[model, bits], folder)
        return folder

    def test_its_tokenizer_gives_our_ids(self):
        lines = self.folder / "lines.json"
        lines.write_text(json.dumps(LINES))
        for model, begin, end in (("BERT", [3], [4]), ("OPT", [2], []), ("WordPiece", [101], [102])):
            folder = self.export(model, "float")
            ours = json.loads(subprocess.run([HUB_TOOL, "ids", folder, lines], capture_output=True, text=True, check=True).stdout)
            self.assertEqual(len(LINES), len(ours))
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            for line, ids in zip(LINES, ours):
                self.assertEqual(ids, tokenizer(line, add_special_tokens=False)["input_ids"], line)
                self.assertEqual(begin + ids + end, tokenizer(line)["input_ids"], line)
                if model != "WordPiece":  # Which drops case and white space.
                    self.assertEqual(line, tokenizer.decode(ids))
            self.assertEqual(1 if model == "OPT" else 0, tokenizer.pad_token_id)

    def test_a_quantized_trial_loads_and_rounds(self):
        for model in ("BERT", "OPT"):
            exact, _ = load(self.export(model, "float"), trust_remote_code=True)
            rounds, report = load(self.export(model, "W8A8"), trust_remote_code=True)
            self.assertEqual([], report["missing_keys"] + report["unexpected_keys"])
            ids = {"ids": torch.randint(6, 300, (2, 16))}
            apart = difference(logits_of(rounds, ids), logits_of(exact, ids))
            self.assertGreater(apart, 1e-4)
            self.assertLess(apart, 0.5)

    def test_scripts_are_trained_rounded_exported_and_known_by_their_content(self):
        exact, report = load(self.export("scripts", "float"), trust_remote_code=True)
        self.assertEqual([], report["missing_keys"] + report["unexpected_keys"])
        rounds, _ = load(self.export("scripts", "W8A8"), trust_remote_code=True)
        ids = {"ids": torch.randint(6, 300, (2, 16))}
        self.assertLess(1e-4, difference(logits_of(rounds, ids), logits_of(exact, ids)))
        self.assertEqual([("script", "script", str(self.softmax))], self.sql("SELECT DISTINCT softmax, gate, softmax_script FROM trials WHERE labels->>'model' = 'scripts'"))
        flags = ("--text", self.text, "--batches", 1, "--batch-size", 2, "--sequence-length", 16, "--bits", "W8A8")
        self.assertIn("max_inf_norm", self.inlier("analyze", self.export("scripts", "float"), *flags).stdout)
        before = self.softmax.read_bytes()
        try:
            own_scripts.save(own_scripts.other_softmax, self.softmax)
            refused = self.inlier("export", self.trials["scripts", "float"], self.folder / "other", status=6)
            self.assertIn("is not the script that the model was trained with", refused.stderr)
            self.inlier("run", self.folder / "sweep.yaml")
            digests = self.sql("SELECT count(DISTINCT dataset_digest) FROM results WHERE labels->>'model' = 'scripts' AND labels->>'bits' = 'float'")
            self.assertEqual([(2,)], digests, "another function is another training")
            self.softmax.write_text("def softmax(scores, mask): ...")
            failed = self.inlier("run", self.folder / "sweep.yaml", status=1)
            self.assertIn(f"attention.softmax.script.file: {self.softmax}: is no TorchScript", failed.stdout + failed.stderr)
        finally:
            self.softmax.write_bytes(before)

    def test_analyze_reads_an_export_and_stores_what_it_measures(self):
        """Also by the name of a model in the hub's cache; the coordinator is killed after it has answered."""
        flags = ("--text", self.text, "--batches", 1, "--batch-size", 2, "--sequence-length", 16, "--bits", "W8A8")
        done = self.inlier("analyze", self.export("BERT", "float"), *flags)
        self.assertIn("not stored: no coordinator answers", done.stdout)
        # Nor is the default port's an error, where no program listens there and no folder is named.
        alone = subprocess.run([INLIER, "analyze", self.export("BERT", "float"), *map(str, flags)], cwd=self.export("BERT", "float"), capture_output=True, text=True)
        self.assertEqual("", alone.stderr)
        self.assertRegex(alone.stdout, "not stored: no coordinator answers|stored as ")
        snapshot = self.folder / "hub" / "models--me--opt" / "snapshots" / "abc"
        snapshot.parent.mkdir(parents=True)
        (snapshot.parents[1] / "refs").mkdir()
        (snapshot.parents[1] / "refs" / "main").write_text("abc")
        snapshot.symlink_to(self.export("OPT", "float"))
        up = subprocess.Popen([INLIER, "up", "--dir", self.folder / "state", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            up.stdout.readline()
            environment = {**os.environ, "HF_HUB_CACHE": str(self.folder / "hub")}
            refused = self.inlier("analyze", "me/bert", *flags, env=environment, status=5)
            self.assertIn("hf download me/bert", refused.stderr)
            done = self.inlier("analyze", "me/opt", *flags, "--layers", self.folder / "layers.csv", env=environment)
            self.assertIn("2 sequences of 16 tokens", done.stdout)
            self.assertIn("stored as a-1", done.stdout)
            coordinator = int(subprocess.run(["pgrep", "-f", f"inlier-coordinator.*{self.folder}"], capture_output=True, text=True, check=True).stdout.split()[0])
            os.kill(coordinator, signal.SIGKILL)
        finally:
            up.send_signal(signal.SIGINT)
            up.communicate(timeout=60)
        rows = self.sql("SELECT analysis, model, setting, max_inf_norm > 0, hidden_change > 0, length(model_sha256) FROM analyses ORDER BY setting")
        self.assertEqual([("a-1", "me/opt", "W8A8", 1, 1, 64), ("a-1", "me/opt", "float", 1, None, 64)], rows)
        heading, *layers = (self.folder / "layers.csv").read_text().splitlines()
        self.assertTrue(heading.startswith("setting,site,"))
        self.assertEqual([(len(layers),)], self.sql("SELECT count(DISTINCT setting || site) FROM analysis_sites"))


if __name__ == "__main__":
    atexit.register(shutil.rmtree, os.environ["HF_MODULES_CACHE"], ignore_errors=True)
    unittest.main()
