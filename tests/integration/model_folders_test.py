#!/usr/bin/env python3
"""Hugging Face folders with random legal configurations, as transformers saves them and with keys changed by hand: inlier computes what transformers
computes, or refuses the folder by a key that is to blame. INLIER_FOLDERS: how many (60); INLIER_SEED: the first one's seed."""
import collections
import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers
from safetensors.torch import load_file, save_file

HUB_TOOL = pathlib.Path(os.environ["INLIER_HUB_TOOL"])
FOLDERS = int(os.environ.get("INLIER_FOLDERS", "60"))
SEED = int(os.environ.get("INLIER_SEED", "1"))
TOLERANCE = 1e-5  # Of the largest value.
TOKENS = 10

KNOWN_ACTIVATIONS = ["gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "relu", "silu", "swish"]
OTHER_ACTIVATIONS = ["quick_gelu", "tanh", "mish", "relu6", "relu2", "leaky_relu", "sigmoid"]
EPSILONS = [1e-12, 1e-6, 1e-5, 1e-3, 0.1, 1]
CLASSES = {
    "bert": ["BertForMaskedLM", "BertModel", "BertForPreTraining", "BertLMHeadModel", "BertForSequenceClassification", "BertForTokenClassification",
             "BertForQuestionAnswering", "BertForMultipleChoice", "BertForNextSentencePrediction"],
    "opt": ["OPTForCausalLM", "OPTModel", "OPTForSequenceClassification", "OPTForQuestionAnswering"],
    "gpt2": ["GPT2LMHeadModel", "GPT2Model", "GPT2ForSequenceClassification", "GPT2ForTokenClassification", "GPT2ForQuestionAnswering", "GPT2DoubleHeadsModel"],
    "llama": ["LlamaForCausalLM", "LlamaModel", "LlamaForSequenceClassification", "LlamaForTokenClassification", "LlamaForQuestionAnswering"],
    "vit": ["ViTForImageClassification", "ViTModel", "ViTForMaskedImageModeling"],
}
# With a head that inlier has.
WHOLE = {"BertForMaskedLM", "BertForSequenceClassification", "OPTForCausalLM", "GPT2LMHeadModel", "LlamaForCausalLM", "ViTForImageClassification"}
LAST_STATE = {"gpt2": "transformer.ln_f", "llama": "model.norm", "vit": "vit.layernorm"}  # Of the others hidden.<layers>.


class Draw:
    """A configuration; `blame` has the keys with a value that inlier may refuse."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.type = self.random.choice(list(CLASSES))
        self.cls = self.random.choice(CLASSES[self.type]) if self.random.random() < 0.6 else CLASSES[self.type][0]
        self.blame, self.keys = set(), {}
        self.heads = self.random.choice([1, 2, 3, 4])
        self.head = self.random.choice([4, 6, 8])
        self.keys.update(getattr(self, self.type)())
        if self.random.random() < 0.4:
            self.keys["num_labels"] = self.random.choice([1, 2, 3, 5])
        if self.random.random() < 0.15:
            self.keys["problem_type"] = self.odd("problem_type", ["single_label_classification"], ["multi_label_classification", "regression"])

    def odd(self, key, usual, others, share=0.06):
        """One of `others`, which inlier may refuse, now and then."""
        if others and self.random.random() < share:
            self.blame.add(key)
            return self.random.choice(others)
        return self.random.choice(usual)

    def size(self):
        return self.random.randint(1, 30)

    def common(self):
        return dict(hidden_size=self.heads * self.head, num_hidden_layers=self.random.randint(1, 3), num_attention_heads=self.heads,
                    initializer_range=self.random.choice([0.02, 0.2]))

    def text(self):
        return dict(vocab_size=self.random.randint(31, 60), max_position_embeddings=self.random.randint(TOKENS, 20))

    def bert(self):
        keys = dict(self.common(), **self.text(), intermediate_size=self.size(), hidden_act=self.odd("hidden_act", KNOWN_ACTIVATIONS, OTHER_ACTIVATIONS),
                    layer_norm_eps=self.random.choice(EPSILONS), hidden_dropout_prob=self.random.choice([0.0, 0.1, 0.3]),
                    attention_probs_dropout_prob=self.random.choice([0.0, 0.2]), chunk_size_feed_forward=self.random.choice([0, 0, 5]),
                    type_vocab_size=self.odd("type_vocab_size", [2], [1, 3]), is_decoder=self.odd("is_decoder", [False], [True]),
                    position_embedding_type=self.odd("position_embedding_type", ["absolute"], ["relative_key", "relative_key_query", None]),
                    pad_token_id=self.random.choice([0, 0, 3]), tie_word_embeddings=self.odd("tie_word_embeddings", [True], [False]))
        if self.random.random() < 0.1:
            keys["classifier_dropout"] = self.odd("classifier_dropout", [keys["hidden_dropout_prob"]], [0.45], 0.5)
        return keys

    def opt(self):
        keys = dict(self.common(), **self.text(), ffn_dim=self.size(), activation_function=self.odd("activation_function", KNOWN_ACTIVATIONS, OTHER_ACTIVATIONS),
                    do_layer_norm_before=self.random.random() < 0.6, enable_bias=self.odd("enable_bias", [True], [False]),
                    layer_norm_elementwise_affine=self.odd("layer_norm_elementwise_affine", [True], [False]), pad_token_id=self.random.choice([1, 1, 0]),
                    _remove_final_layer_norm=self.odd("_remove_final_layer_norm", [False], [True]),
                    tie_word_embeddings=self.odd("tie_word_embeddings", [True], [False]), layerdrop=self.random.choice([0.0, 0.2]))
        if self.random.random() < 0.3:
            keys["word_embed_proj_dim"] = self.size()
        return keys

    def gpt2(self):
        common = self.common()
        return dict(n_embd=common["hidden_size"], n_layer=common["num_hidden_layers"], n_head=self.heads, vocab_size=self.random.randint(31, 60),
                    n_positions=self.random.randint(TOKENS, 20), n_inner=self.random.choice([None, self.size()]), layer_norm_epsilon=self.random.choice(EPSILONS),
                    activation_function=self.odd("activation_function", KNOWN_ACTIVATIONS, OTHER_ACTIVATIONS), bos_token_id=0, eos_token_id=0,
                    scale_attn_weights=self.odd("scale_attn_weights", [True], [False]), reorder_and_upcast_attn=self.random.random() < 0.2,
                    scale_attn_by_inverse_layer_idx=self.odd("scale_attn_by_inverse_layer_idx", [False], [True]),
                    tie_word_embeddings=self.random.random() < 0.7, pad_token_id=0)

    def llama(self):
        keys = dict(self.common(), **self.text(), intermediate_size=self.size(), hidden_act=self.odd("hidden_act", KNOWN_ACTIVATIONS, OTHER_ACTIVATIONS),
                    num_key_value_heads=self.random.choice([n for n in (1, 2, 3, 4) if self.heads % n == 0] + [None]),
                    rms_norm_eps=self.random.choice(EPSILONS), rope_theta=self.random.choice([10000.0, 500000.0, 100.0]),
                    tie_word_embeddings=self.random.random() < 0.5, attention_bias=self.random.random() < 0.3, pretraining_tp=self.random.choice([1, 2]),
                    pad_token_id=0, bos_token_id=0, eos_token_id=0)
        keys["mlp_bias"] = self.odd("mlp_bias", [keys["attention_bias"]], [not keys["attention_bias"]])
        if self.random.random() < 0.1:
            keys["head_dim"] = self.odd("head_dim", [self.head], [self.head + 2], 0.5)
        if self.random.random() < 0.15:
            keys["rope_scaling"] = self.odd("rope_scaling", [{"rope_type": "default"}, {"type": "default"}], [{"rope_type": "linear", "factor": 2.0}], 0.6)
        if self.random.random() < 0.08:
            keys["partial_rotary_factor"] = self.odd("partial_rotary_factor", [1.0], [0.5], 0.3)
        return keys

    def vit(self):
        patch = self.random.choice([2, 4])
        return dict(self.common(), intermediate_size=self.size(), image_size=patch * self.random.randint(1, 3), patch_size=patch,
                    num_channels=self.random.choice([1, 3]), hidden_act=self.odd("hidden_act", KNOWN_ACTIVATIONS, OTHER_ACTIVATIONS),
                    layer_norm_eps=self.random.choice(EPSILONS), qkv_bias=self.odd("qkv_bias", [True], [False]), encoder_stride=patch)

    def edit(self, config):
        """A change of config.json by hand, as users make them and other programs write them."""
        aliases = {"hidden_size": "n_embd", "num_attention_heads": "n_head", "num_hidden_layers": "n_layer", "max_position_embeddings": "n_positions"}
        choice = self.random.random()
        if choice < 0.25 and self.type == "gpt2":
            alias = self.random.choice(list(aliases))
            config[alias] = config[aliases[alias]] if self.random.random() < 0.6 else self.random.choice([1, 2, 4])
            if self.random.random() < 0.5:
                config.pop(aliases[alias])
            self.blame |= {alias, aliases[alias]}
        elif choice < 0.5:
            key = self.random.choice(list(config))
            config[key] = None
            self.blame.add(key)
        elif choice < 0.7:
            key = self.random.choice(list(config))
            del config[key]
            self.blame.add(key)
        elif choice < 0.9:
            key = self.random.choice([key for key in config if key not in ("model_type", "architectures", "transformers_version")])
            value = config[key]
            config[key] = not value if isinstance(value, bool) else value * 2 if isinstance(value, (int, float)) else value
            self.blame.add(key)
        else:
            config.update(self.random.choice([{"n_ctx": 7}, {"directionality": "bidi"}, {"output_past": True}, {"gradient_checkpointing": False},
                                              {"unsloth_version": "2024.9"}, {"torch_dtype": "float16"}, {"final_logit_softcapping": 30.0}]))


def tensors_for(draw):
    if draw.type == "vit":
        return {"pixels": torch.randn(2, draw.keys["num_channels"], draw.keys["image_size"], draw.keys["image_size"])}
    return {"ids": torch.randint(4, 31, (2, TOKENS))}


def arguments(tensors):
    return {"pixel_values" if name == "pixels" else "input_ids": tensor for name, tensor in tensors.items()}


def make(folder, seed):
    """Saves a model; what transformers computes with the folder, or None where it refuses it."""
    torch.manual_seed(seed)
    draw = Draw(seed)
    folder.mkdir()
    try:
        return draw, run(draw, folder)
    except Exception:  # An illegal configuration: not compared.
        return draw, None


def run(draw, folder):
    """Saves a model of the configuration; what transformers computes with the folder, or None where tensors are missing or left over."""
    config = getattr(transformers, draw.cls).config_class(**draw.keys)
    config._attn_implementation = "eager"
    model = getattr(transformers, draw.cls)(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0, 0.3)
    model.save_pretrained(folder)
    tensors = tensors_for(draw)
    save_file(tensors, folder / "in")
    if draw.random.random() < 0.4:
        path = folder / "config.json"
        changed = json.loads(path.read_text())
        draw.edit(changed)
        path.write_text(json.dumps(changed))
    model, report = getattr(transformers, draw.cls).from_pretrained(folder, output_loading_info=True, attn_implementation="eager", dtype=torch.float32)
    if report["missing_keys"] or report["mismatched_keys"] or report["unexpected_keys"]:
        return None
    body = getattr(model.eval(), model.base_model_prefix, model)
    with torch.no_grad():
        seen = {"last": body(**arguments(tensors)).last_hidden_state}
        if draw.cls in WHOLE:
            seen["logits"] = model(**arguments(tensors)).logits
    return seen


class ModelFoldersTest(unittest.TestCase):
    def compare(self, draw, ours, theirs, what):
        self.assertEqual(ours.shape, theirs.shape, what)
        apart = ((ours - theirs).abs().max() / theirs.abs().max().clamp_min(1e-30)).item()
        self.assertLess(apart, TOLERANCE, f"{what} of {draw.cls} {draw.keys}")
        return apart

    def refused(self, draw, error, what):
        if "architectures" in draw.blame and "has no place for the tensor" in error:
            return  # Nothing names the head that the tensor belongs to.
        key = error.split("config.json: ")[-1].split(":")[0].strip('"').split(".")[-1]
        self.assertIn(key, draw.blame, f"{what} of {draw.cls} {draw.keys}: {error}")

    def test_inlier_computes_what_transformers_computes_or_refuses_by_key(self):
        with tempfile.TemporaryDirectory() as temporary:
            root, drawn, count, apart = pathlib.Path(temporary), {}, collections.Counter(), 0.0
            for seed in range(SEED, SEED + FOLDERS):
                folder = root / str(seed)
                drawn[folder] = make(folder, seed)
            (root / "list").write_text("".join(f"{folder}\n" for folder in drawn))
            done = subprocess.run([HUB_TOOL, "each", root / "list"], capture_output=True, text=True)
            self.assertEqual(0, done.returncode, done.stderr)
            for folder, (draw, theirs) in drawn.items():
                with self.subTest(f"seed {folder.name}, {draw.cls}"):
                    if theirs is None:
                        count["transformers refuses it"] += 1
                        continue
                    if (folder / "body.txt").exists():
                        self.refused(draw, (folder / "body.txt").read_text(), "body")
                        count["refused by key"] += 1
                        continue
                    count["equal"] += 1
                    states = load_file(folder / "body")
                    last = LAST_STATE.get(draw.type) or max((name for name in states if name.startswith("hidden.")), key=lambda name: int(name[7:]))
                    apart = max(apart, self.compare(draw, states[last], theirs["last"], "the last state"))
                    if (folder / "whole.txt").exists():
                        self.refused(draw, (folder / "whole.txt").read_text(), "whole")
                        count["of them with a head refused by key"] += 1
                    elif "logits" in theirs:
                        apart = max(apart, self.compare(draw, load_file(folder / "whole")["logits"], theirs["logits"], "logits"))
            print(f"{FOLDERS} folders: {dict(count)}; largest difference {apart:.1e}")
            self.assertGreater(count["equal"], FOLDERS // 2)


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    unittest.main()
