"""Evaluates the trained model with weights rounded to some bits: another number of bits does not train again."""
import sys

import torch
from inlier import trial  # inlier 1
from model import MASK, VALIDATION  # noqa: F401: registers the clipped softmax.
from transformers import BertForMaskedLM


def round_weights(model, bits):
    for module in model.modules():
        if isinstance(module, torch.nn.Linear):
            scale = module.weight.abs().amax() / (2 ** (bits - 1) - 1)
            module.weight.data = (module.weight / scale).round() * scale


def main():
    p = trial.parameters(bits=8)  # inlier 2
    folder = trial.model(sys.argv[1] if len(sys.argv) > 1 else "output/model")  # inlier 3
    model = BertForMaskedLM.from_pretrained(folder, attn_implementation="clipped").eval()
    if p.bits < 32:
        round_weights(model, p.bits)
    examples = [VALIDATION[number] for number in range(len(VALIDATION))]
    batch = {name: torch.stack([example[name] for example in examples]) for name in examples[0]}
    with torch.no_grad():
        found = model(**batch, output_hidden_states=True)
    asked = batch["labels"] != -100
    right = (found.logits.argmax(-1) == batch["labels"])[asked].float().mean()
    trial.result(accuracy=right, rounded_loss=found.loss, max_inf_norm=max(state.abs().max().item() for state in found.hidden_states))  # inlier 4


if __name__ == "__main__":
    main()
