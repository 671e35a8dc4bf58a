"""Training steps of transformers' BERT on a GPU or CPU, printed as train_load prints them.

    peer.py LAYERS WIDTH HEADS VOCABULARY TOKENS BATCH STEPS DEVICE eager|compile

bfloat16 autocast, sdpa attention, fused AdamW, dropout 0.1, gradients clipped to 1; logits at every position, as its loss has them.
"""
import json
import sys
import time

import torch
import transformers


def train(model, ids, labels, device, warm_up, compiled=False):
    model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    run = torch.compile(model) if compiled else model
    losses = []
    for step, (batch, target) in enumerate(zip(ids.to(device), labels.to(device))):
        if step == warm_up:
            losses[-1].item()
            began = time.perf_counter()
        with torch.autocast(device.split(":")[0], torch.bfloat16):
            loss = run(input_ids=batch, labels=target).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    next(model.parameters()).flatten()[0].item()
    seconds = (time.perf_counter() - began) / (len(ids) - warm_up)
    return {"losses": [loss.item() for loss in losses], "seconds": {"mean": seconds}, "tokens_per_second": ids[0].numel() / seconds}


def main():
    torch.manual_seed(1)
    layers, width, heads, vocabulary, tokens, batch, steps = map(int, sys.argv[1:8])
    config = transformers.BertConfig(vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
                                     intermediate_size=4 * width, max_position_embeddings=tokens)
    ids = torch.randint(5, vocabulary, (steps, batch, tokens))
    labels = ids.masked_fill(torch.rand(ids.shape) > 0.15, -100)
    result = train(transformers.BertForMaskedLM(config), ids, labels, sys.argv[8], max(2, steps // 4), sys.argv[9] == "compile")
    print(json.dumps({"transformers": transformers.__version__, "torch": torch.__version__, **result}))


if __name__ == "__main__":
    main()
