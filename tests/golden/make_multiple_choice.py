#!/usr/bin/env python3
"""Writes multiple_choice/: two small random models with their tokenizers, and what lm-evaluation-harness makes of questions.jsonl with them.

    python3 tests/golden/make_multiple_choice.py          # needs torch, transformers 5.24, tokenizers, and lm_eval 0.4.13

Nothing of the harness is changed: a task of its own form (output_type multiple_choice) for each task of the file, HFLM on the folder, in float32 on the CPU.
gpt2: byte-level BPE, no token before a text. llama: BPE with bytes as fall-back, as Llama 2's, and <s> before every text.
"""
import json
import pathlib
import shutil
import tempfile

import lm_eval
import torch
import transformers
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

GROUP = pathlib.Path(__file__).resolve().parent / "multiple_choice"
QUESTIONS = GROUP / "questions.jsonl"
VOCABULARY = 400


def texts():
    for line in QUESTIONS.read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        if question["task"] in ("plain", "long"):  # The others are of pieces that it has not seen.
            yield question["context"] + " " + " ".join(question["choices"])


def byte_level():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.train_from_iterator(texts(), trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=["<|endoftext|>"], show_progress=False,
                                                               initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer, dict(bos_token="<|endoftext|>", eos_token="<|endoftext|>")


def with_bytes_as_fall_back():
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.pre_tokenizer = pre_tokenizers.Metaspace()  # Of words; those that are used are of a whole text.
    trained.train_from_iterator(texts(), trainers.BpeTrainer(vocab_size=VOCABULARY + 100, special_tokens=special, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    tokenizer = Tokenizer(models.BPE(vocab=model["vocab"], merges=[tuple(pair) for pair in model["merges"]], unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens(special[:3])
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])
    return tokenizer, dict(bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def fill(model):
    """Weights with which the likelihoods of answers differ."""
    generator = torch.Generator().manual_seed(3)
    for name, parameter in model.named_parameters():
        draw = torch.randn(parameter.shape, generator=generator)
        if parameter.dim() == 1:
            parameter.data = (1.0 if name.endswith("weight") else 0.0) + 0.2 * draw
        else:
            parameter.data = draw * (0.4 if "wte" in name or "wpe" in name or "embed" in name else 1.2 * min(parameter.shape) ** -0.5)


def save(name, tokenizer, special, config):
    folder = GROUP / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    fill(model)
    with tempfile.TemporaryDirectory() as made:
        model.save_pretrained(made)
        for file in ("config.json", "model.safetensors"):
            shutil.copy(pathlib.Path(made) / file, folder / file)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = dict(tokenizer_class="PreTrainedTokenizerFast", clean_up_tokenization_spaces=False, model_max_length=config.max_position_embeddings, **special)
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1) + "\n")


def measure(name):
    questions = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    model = HFLM(pretrained=str(GROUP / name), device="cpu", dtype="float32", batch_size=4)
    tasks = list(dict.fromkeys(question["task"] for question in questions))
    case = {"case": name, "group": "multiple_choice", "lm_eval": lm_eval.__version__, "transformers": transformers.__version__, "questions": QUESTIONS.name,
            "scores": [], "tasks": {}, "tolerances": {"score_relative": 1e-5}}
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks:
            file = pathlib.Path(folder) / f"{task}.jsonl"
            file.write_text("".join(json.dumps(question) + "\n" for question in questions if question["task"] == task))
            metrics = [dict(metric=metric, aggregation="mean", higher_is_better=True) for metric in ("acc", "acc_norm")]
            form = dict(task=task, dataset_path="json", dataset_kwargs=dict(data_files=dict(test=str(file))), test_split="test", output_type="multiple_choice",
                        doc_to_text="context", doc_to_choice="choices", doc_to_target="gold", metric_list=metrics)
            results = lm_eval.simple_evaluate(model=model, tasks=[form], num_fewshot=0, log_samples=True, bootstrap_iters=0, task_manager=TaskManager())
            samples = sorted(results["samples"][task], key=lambda sample: sample["doc_id"])
            case["scores"] += [[float(response[0][0]) for response in sample["resps"]] for sample in samples]
            case["tasks"][task] = {key: results["results"][task][f"{key},none"] for key in ("acc", "acc_norm")}
            for key in ("acc", "acc_norm"):
                values = [sample[key] for sample in samples]
                case["tasks"][task][key + "_stderr"] = lm_eval.api.metrics.mean_stderr(values)
    (GROUP / f"{name}.json").write_text(json.dumps(case, indent=1) + "\n")
    print(name, case["tasks"])


def main():
    size = dict(bos_token_id=0, eos_token_id=0)
    tokenizer, special = byte_level()
    save("gpt2", tokenizer, special, transformers.GPT2Config(n_layer=2, n_head=2, n_embd=16, n_positions=48, vocab_size=tokenizer.get_vocab_size(), **size))
    tokenizer, special = with_bytes_as_fall_back()
    save("llama", tokenizer, special, transformers.LlamaConfig(num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, hidden_size=16, intermediate_size=24,
                                                              max_position_embeddings=56, vocab_size=tokenizer.get_vocab_size(), bos_token_id=1, eos_token_id=2))
    for name in ("gpt2", "llama"):
        measure(name)


if __name__ == "__main__":
    main()
