"""Hugging Face's BERT on the lines of a text by its Trainer, with the clipped softmax of Bondarenko et al. (2023). inlier evaluates what it saves."""
import dataclasses
import pathlib

from inlier.integrations.huggingface import InlierCallback, trial  # inlier 1
from tokenizers import BertWordPieceTokenizer
from transformers import AttentionInterface, BertConfig, BertForMaskedLM, DataCollatorForLanguageModeling, PreTrainedTokenizerFast, Trainer, TrainingArguments, set_seed

BY_HAND = {"path": "text.txt", "sequence_length": 64, "mask_probability": 0.15, "validation_fraction": 0.02}


@dataclasses.dataclass
class Parameters:
    layers: int = 2
    hidden_size: int = 128
    heads: int = 4
    lr: float = 1e-3
    batch_size: int = 16
    steps: int = 500
    warmup_steps: int = 50
    vocabulary: int = 1000
    seed: int = 1


def training_lines(data):
    """All but the last share of the lines, which is inlier's validation part."""
    lines = [line for line in pathlib.Path(data["path"]).read_text(encoding="utf-8").splitlines() if line.strip()]
    return lines[:len(lines) - round(len(lines) * data["validation_fraction"])]


def tokenizer_of(data, lines, size):
    vocabulary = data.get("tokenizer", {}).get("wordpiece", {}).get("vocab")
    made = BertWordPieceTokenizer(vocabulary)
    if not vocabulary:
        made.train_from_iterator(lines, vocab_size=size, show_progress=False)
    return PreTrainedTokenizerFast(tokenizer_object=made._tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")


def sequences(lines, tokenizer, length):
    """[CLS] line [SEP] behind each other, in groups of 1,000 lines that are cut into sequences."""
    for begin in range(0, len(lines), 1000):
        ids = [token for line in tokenizer(lines[begin:begin + 1000])["input_ids"] for token in line]
        yield from ({"input_ids": ids[at:at + length]} for at in range(0, len(ids) - length + 1, length))


def clipped_attention(module, query, key, value, attention_mask=None, scaling=None, dropout=0.0, **more):
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    gamma = clipped_attention.gamma
    weights = ((1 - gamma) * scores.softmax(-1) + gamma).clamp(0, 1)
    return (weights @ value).transpose(1, 2).contiguous(), weights


def main():
    p = trial.parameters(Parameters)  # inlier 2
    data, clipped_attention.gamma = trial.setting("data.text", BY_HAND), trial.setting("attention.softmax.clipped.gamma", 0.0)  # inlier 3
    AttentionInterface.register("clipped", clipped_attention)
    set_seed(p.seed)
    lines = training_lines(data)
    tokenizer = tokenizer_of(data, lines, p.vocabulary)
    model = BertForMaskedLM(BertConfig(
        vocab_size=len(tokenizer), hidden_size=p.hidden_size, num_hidden_layers=p.layers, num_attention_heads=p.heads, intermediate_size=4 * p.hidden_size,
        max_position_embeddings=data["sequence_length"], hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="clipped"))
    arguments = TrainingArguments(
        output_dir=trial.output_dir(),  # inlier 4
        max_steps=p.steps, learning_rate=p.lr, per_device_train_batch_size=p.batch_size, warmup_steps=p.warmup_steps, lr_scheduler_type="linear", seed=p.seed,
        adam_beta2=0.98, weight_decay=0.01, logging_steps=25, save_steps=250, report_to="none", disable_tqdm=True)
    Trainer(model=model, args=arguments, train_dataset=list(sequences(lines, tokenizer, data["sequence_length"])),
            data_collator=DataCollatorForLanguageModeling(tokenizer, mlm_probability=data["mask_probability"]), processing_class=tokenizer,
            callbacks=[InlierCallback({"loss": "train_loss"})]).train(resume_from_checkpoint=InlierCallback.resume_from())  # inlier 5


if __name__ == "__main__":
    main()
