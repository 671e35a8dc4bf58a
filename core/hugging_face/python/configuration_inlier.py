"""Configurations of models that inlier trained with parts of attention, norms or registers that transformers has not, or quantized.

`inlier` holds what transformers' own configuration has no field for: attention (softmax, gate, norm of queries
and keys, key and value bias), norm, patch_norm, registers, and
whether inlier_quantization.json has the scales of a quantization. `inlier_scripts` has the TorchScript files of a softmax or
gate of one's own, in base64, so that save_pretrained keeps them. Tested with transformers 4.57.6.
"""
import base64
import json
import pathlib

from transformers import BertConfig, GPT2Config, LlamaConfig, OPTConfig, ViTConfig
from transformers.utils import cached_file

QUANTIZATION = "inlier_quantization.json"
SCRIPTS = {"softmax": "inlier_softmax.pt", "gate": "inlier_gate.pt"}
HUB_ARGUMENTS = ("cache_dir", "force_download", "local_files_only", "token", "revision", "subfolder")


class WithInlier:
    inlier = {}

    @classmethod
    def get_config_dict(cls, name, **kwargs):
        where = {key: kwargs[key] for key in HUB_ARGUMENTS if key in kwargs}
        config, kwargs = super().get_config_dict(name, **kwargs)
        if config.get("inlier", {}).get("quantized") and "inlier_quantization" not in config:
            config["inlier_quantization"] = json.loads(pathlib.Path(cached_file(name, QUANTIZATION, **where)).read_text())
        for part, file in SCRIPTS.items():
            if "script" in config.get("inlier", {}).get("attention", {}).get(part, {}) and part not in config.setdefault("inlier_scripts", {}):
                config["inlier_scripts"][part] = base64.b64encode(pathlib.Path(cached_file(name, file, **where)).read_bytes()).decode()
        return config, kwargs


class InlierBertConfig(WithInlier, BertConfig):
    model_type = "inlier_bert"


class InlierOPTConfig(WithInlier, OPTConfig):
    model_type = "inlier_opt"


class InlierGPT2Config(WithInlier, GPT2Config):
    model_type = "inlier_gpt2"


class InlierLlamaConfig(WithInlier, LlamaConfig):
    model_type = "inlier_llama"


class InlierViTConfig(WithInlier, ViTConfig):
    model_type = "inlier_vit"
