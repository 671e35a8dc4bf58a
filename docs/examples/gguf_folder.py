#!/usr/bin/env python3
"""Writes the model of a GGUF file as a folder of Hugging Face, in float32, with its tokenizer: what inlier analyze and start_from read.

    pip install torch transformers gguf
    python gguf_folder.py MODEL.gguf FOLDER

transformers takes the weights out of their blocks, so that float below is what the file's own rounding has left.
"""
import pathlib
import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

file, folder = (pathlib.Path(argument) for argument in sys.argv[1:3])
model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
# They are float now; without this save_pretrained takes the model for a quantized one.
model.hf_quantizer, model.is_quantized = None, False
if hasattr(model.config, "quantization_config"):
    del model.config.quantization_config
model.save_pretrained(folder)
tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
tokenizer.save_pretrained(folder)

ids = tokenizer("The capital of France is", return_tensors="pt").input_ids
with torch.no_grad():
    best = model(ids).logits[0, -1].argmax()
print(f"{folder}: {sum(p.numel() for p in model.parameters()) / 1e6:.1f} M parameters; The capital of France is{tokenizer.decode(best)}")
