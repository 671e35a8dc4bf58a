"""Softmaxes and a gate of one's own, which transformers_test saves as TorchScript."""
import torch


class OwnGate(torch.nn.Module):
    def __init__(self, head_size):
        super().__init__()
        self.inner = torch.nn.Linear(head_size, 1)
        self.w = torch.nn.Parameter(torch.randn(head_size))
        self.register_buffer("scale", torch.full((1,), 2.0))

    def forward(self, x):
        return torch.sigmoid(self.inner(x) + (x * self.w).sum(-1, keepdim=True) * self.scale)


def own_softmax(scores, mask):
    # type: (torch.Tensor, torch.Tensor) -> torch.Tensor
    p = torch.relu(scores) * mask
    return p / (mask.sum(-1, keepdim=True) + p.sum(-1, keepdim=True))


def other_softmax(scores, mask):
    # type: (torch.Tensor, torch.Tensor) -> torch.Tensor
    return torch.softmax(scores, -1) * mask


def save(function, path):
    torch.jit.script(function).save(str(path))
