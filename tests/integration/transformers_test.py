#!/usr/bin/env python3
"""transformers loads our exports and gives our logits, we load its models and give its logits (all five architectures and BERT as a classifier), and analyze one."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers
from safetensors.torch import load_file, save_file

INLIER = pathlib.Path(os.environ["INLIER_BIN"]) / "inlier"
HUB_TOOL = pathlib.Path(os.environ["INLIER_HUB_TOOL"])
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
    "vit": "model { vit {} }",
    "bert, five classes": "model { bert {} } data { classification {} }",
    "bert, a number": "model { bert {} } data { classification { target: NUMBER } }",
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


def load(folder):
    config = transformers.AutoConfig.from_pretrained(folder)
    auto = {"bert": transformers.AutoModelForMaskedLM, "vit": transformers.AutoModelForImageClassification}.get(config.model_type, transformers.AutoModelForCausalLM)
    if config.architectures == ["BertForSequenceClassification"]:
        auto = transformers.AutoModelForSequenceClassification
    model, report = auto.from_pretrained(folder, output_loading_info=True)
    return model.eval(), report


class TransformersTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_tool(self, *arguments):
        done = subprocess.run([HUB_TOOL, *arguments], capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stderr)

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
        (self.folder / "text.txt").write_text("In the beginning God created the heaven and the earth.\n" * 4000)

        def analyze(*arguments):
            done = subprocess.run([INLIER, "analyze", self.folder / "model", "--text", self.folder / "text.txt", "--sequence-length", "32", "--batches", "2",
                                   "--dir", self.folder / "state", *arguments], capture_output=True, text=True)
            return done

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

        (self.folder / "model" / "config.json").write_text('{"model_type": "mamba"}')
        refused = analyze()
        self.assertEqual(6, refused.returncode)
        self.assertIn('config.json: model_type: is not known: bert, opt, gpt2, llama and vit are', refused.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
