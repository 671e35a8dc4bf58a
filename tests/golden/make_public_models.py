#!/usr/bin/env python3
"""Writes public_models/: small random models of public architectures, as transformers' save_pretrained writes them, and their logits.

    python3 tests/golden/make_public_models.py          # needs torch, and transformers 5.24

The classes are transformers' own, unmodified, with eager attention, in float64; angles of rotary positions and Gemma's norms are float32 there whatever
the model. Weights are of a size at which attention is far from uniform, and bfloat16, as published ones; <name>/ is the folder, <name>_expected the case.
"""
import json
import pathlib
import shutil
import tempfile

import torch
import transformers
from safetensors.torch import save_file

GROUP = pathlib.Path(__file__).resolve().parent / "public_models"
SIZES = dict(hidden_size=32, intermediate_size=40, num_attention_heads=4, vocab_size=61, max_position_embeddings=64)
DECODER = dict(SIZES, num_hidden_layers=2, num_key_value_heads=2)


def rope(kind, **members):
    return dict(DECODER, rope_parameters={"rope_type": kind, "rope_theta": 10000.0, **members})


CASES = {
    "llama_linear": ("Llama", "CausalLM", rope("linear", factor=2.5)),
    "llama_dynamic": ("Llama", "CausalLM", dict(rope("dynamic", factor=3.0), max_position_embeddings=16)),
    "llama_llama3": ("Llama", "CausalLM", rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)),
    "llama_yarn": ("Llama", "CausalLM", rope("yarn", factor=4.0, original_max_position_embeddings=16)),
    "llama_yarn_mscale": ("Llama", "CausalLM", rope("yarn", factor=4.0, original_max_position_embeddings=16, mscale=0.7, mscale_all_dim=0.3, beta_fast=3.0,
                                                    beta_slow=0.5, truncate=False)),
    "llama_biases": ("Llama", "CausalLM", dict(DECODER, attention_bias=True, head_dim=12, tie_word_embeddings=True)),
    "mistral": ("Mistral", "CausalLM", dict(DECODER, sliding_window=5, head_dim=12)),
    "qwen2": ("Qwen2", "CausalLM", dict(DECODER, num_hidden_layers=3, use_sliding_window=True, sliding_window=7, max_window_layers=1)),
    "qwen2_tied": ("Qwen2", "CausalLM", dict(DECODER, tie_word_embeddings=True)),
    "qwen3": ("Qwen3", "CausalLM", dict(DECODER, head_dim=16)),
    "gemma2": ("Gemma2", "CausalLM", dict(DECODER, num_hidden_layers=3, head_dim=12, query_pre_attn_scalar=20, sliding_window=5, attn_logit_softcapping=4.0,
                                          final_logit_softcapping=6.0)),
    "gpt_neox": ("GPTNeoX", "CausalLM", dict(SIZES, num_hidden_layers=2, rope_parameters={"rope_type": "default", "rope_theta": 10000.0,
                                                                                          "partial_rotary_factor": 0.25})),
    "gpt_neox_serial": ("GPTNeoX", "CausalLM", dict(SIZES, num_hidden_layers=2, use_parallel_residual=False, attention_bias=False,
                                                    rope_parameters={"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.5})),
    "stablelm": ("StableLm", "CausalLM", dict(DECODER, use_qkv_bias=True, rope_parameters={"rope_type": "default", "rope_theta": 10000.0,
                                                                                         "partial_rotary_factor": 0.25})),
    "roberta": ("Roberta", "MaskedLM", dict(SIZES, num_hidden_layers=2, type_vocab_size=1, layer_norm_eps=1e-5)),
    "distilbert": ("DistilBert", "MaskedLM", dict(dim=32, hidden_dim=40, n_heads=4, n_layers=2, vocab_size=61, max_position_embeddings=64)),
    "deit": ("DeiT", "ImageClassification", dict(SIZES, num_hidden_layers=2, image_size=8, patch_size=4, num_channels=3, num_labels=7)),
}


def fill(model):
    """Random values: matrices keep the size of what they multiply, gains are near what they are at first."""
    generator = torch.Generator().manual_seed(5)
    for name, parameter in model.named_parameters():
        draw = torch.randn(parameter.shape, generator=generator)
        if parameter.dim() >= 2 and "embed" not in name:
            start, size = 0.0, 1.6 * parameter[0].numel() ** -0.5
        elif name.endswith("weight") and parameter.dim() == 1:
            start, size = (0.0 if type(model).__name__.startswith("Gemma") else 1.0), 0.3
        else:
            start, size = 0.0, 0.5
        parameter.data.copy_((start + size * draw).to(torch.bfloat16))


def write(name, family, purpose, settings):
    config = getattr(transformers, family + "Config")(**settings, attn_implementation="eager")
    model = getattr(transformers, f"{family}For{purpose}")(config).eval()
    fill(model)
    folder = GROUP / name
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as made:
        model.to(torch.bfloat16).save_pretrained(made)
        folder.mkdir(parents=True)
        for file in ("config.json", "model.safetensors"):
            shutil.copy(pathlib.Path(made) / file, folder / file)
        # What a user of the folder has.
        model = type(model).from_pretrained(made, dtype=torch.float64, attn_implementation="eager").eval()
    generator = torch.Generator().manual_seed(7)
    tensors = {}
    with torch.no_grad():
        if purpose == "ImageClassification":
            tensors["input/pixel_values"] = torch.randn((2, 3, 8, 8), generator=generator)
            logits = model(pixel_values=tensors["input/pixel_values"].double()).logits
        else:
            ids = torch.randint(5, 61, (2, 24), generator=generator)
            mask = torch.ones_like(ids)
            mask[1, 20:] = 0
            ids[1, 20:] = 1  # RoBERTa counts positions by this token.
            tensors.update({"input/input_ids": ids, "input/attention_mask": mask})
            logits = model(input_ids=ids, attention_mask=mask).logits
    tensors["out/logits"] = logits.contiguous()
    save_file(tensors, GROUP / f"{name}_expected.safetensors")
    case = {"case": f"{name}_expected", "group": "public_models", "checkpoint": name + "/", "class": type(model).__name__,
            "transformers": transformers.__version__, "tolerances": {"float32": {"logits_relmax": 1e-5}, "float64": {"logits_relmax": 1e-5}}}
    (GROUP / f"{name}_expected.json").write_text(json.dumps(case, indent=1) + "\n")
    print(name, "largest logit", round(logits.abs().max().item(), 3))


def main():
    for name, case in CASES.items():
        write(name, *case)


if __name__ == "__main__":
    main()
