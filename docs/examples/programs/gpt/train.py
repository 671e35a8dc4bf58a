"""A GPT over characters whose attention may give nothing: softmax-n, exp(x) / (n + sum exp(x)), is the ordinary softmax for n = 0 and softmax-1 for n = 1."""
import math
import pathlib

import torch
from torch import nn
from torch.nn import functional

from inlier import trial  # inlier 1

p = trial.parameters(n=0.0, layers=2, width=64, heads=4, context=64, lr=2e-3, batch_size=16, steps=300, seed=1)  # inlier 2
torch.manual_seed(p.seed)
TEXT = (pathlib.Path(__file__).parent / "text.txt").read_text(encoding="utf-8")
ALPHABET = sorted(set(TEXT))
DATA = torch.tensor([ALPHABET.index(character) for character in TEXT])
TRAIN, VALIDATION = DATA[: len(DATA) * 9 // 10], DATA[len(DATA) * 9 // 10 :]


def softmax_n(scores, n):
    """(…, keys) -> (…, keys); a row sums to less than one where n > 0. The largest score is taken from all, the zero of n included."""
    top = scores.amax(-1, keepdim=True).clamp(min=0)
    weights = (scores - top).exp()
    return weights / (n * (-top).exp() + weights.sum(-1, keepdim=True))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project, self.out = nn.Linear(p.width, 3 * p.width), nn.Linear(p.width, p.width)

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = (part.view(batch, length, p.heads, -1).transpose(1, 2) for part in self.project(x).chunk(3, -1))
        scores = query @ key.transpose(-2, -1) / math.sqrt(width / p.heads)
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = softmax_n(scores.masked_fill(future, -math.inf), p.n)
        self.to_first = weights[..., 1:, 0].mean().item()  # How much the others give to the first token.
        return self.out((weights @ value).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.norms = Attention(), nn.ModuleList(nn.LayerNorm(p.width) for _ in range(2))
        self.feed_forward = nn.Sequential(nn.Linear(p.width, 4 * p.width), nn.GELU(), nn.Linear(4 * p.width, p.width))

    def forward(self, x):
        x = x + self.attention(self.norms[0](x))
        return x + self.feed_forward(self.norms[1](x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(len(ALPHABET), p.width), nn.Embedding(p.context, p.width)
        self.blocks = nn.ModuleList(Block() for _ in range(p.layers))
        self.norm, self.head = nn.LayerNorm(p.width), nn.Linear(p.width, len(ALPHABET))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        self.largest = 0.0
        for block in self.blocks:
            x = block(x)
            self.largest = max(self.largest, x.abs().max().item())
        return self.head(self.norm(x))


def batch_of(data, step):
    """A function of seed and step, so that a training that goes on has the examples that it would have had."""
    generator = torch.Generator().manual_seed(p.seed * 1_000_003 + step)
    starts = torch.randint(len(data) - p.context - 1, (p.batch_size,), generator=generator)
    return torch.stack([data[start : start + p.context + 1] for start in starts])


def loss_of(model, tokens):
    return functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


def main():
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), p.lr)

    def save(path):
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)

    def load(path):
        state = torch.load(path)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])

    for step in trial.steps(p.steps, save, load, every=100):  # inlier 3
        loss = loss_of(model, batch_of(TRAIN, step))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 0:
            trial.log(step=step, loss=loss)  # inlier 4

    with torch.no_grad():
        losses, largest, to_first = [], 0.0, []
        for step in range(20):
            losses.append(loss_of(model, batch_of(VALIDATION, -step)).item())
            largest = max(largest, model.largest)
            to_first.append(sum(block.attention.to_first for block in model.blocks) / p.layers)
    trial.result(perplexity=math.exp(sum(losses) / 20), max_inf_norm=largest, to_first_token=sum(to_first) / 20)  # inlier 5


if __name__ == "__main__":
    main()
