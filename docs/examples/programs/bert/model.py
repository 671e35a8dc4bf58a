"""Hugging Face's BERT with a clipped softmax, clip((1 - gamma) softmax(scores) + gamma, 0, 1) of Bondarenko et al. (2023), and a task without a file. Needs transformers 5."""
import torch
from transformers import AttentionInterface, BertConfig, BertForMaskedLM

VOCABULARY, LENGTH, MASK = 32, 24, 0


def clipped_attention(module, query, key, value, attention_mask=None, scaling=None, dropout=0.0, **more):
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    gamma = module.config.gamma
    weights = ((1 - gamma) * scores.softmax(-1) + gamma).clamp(0, 1)
    weights = torch.nn.functional.dropout(weights, dropout, module.training)
    return (weights @ value).transpose(1, 2).contiguous(), weights


AttentionInterface.register("clipped", clipped_attention)


def new_model(p):
    return BertForMaskedLM(BertConfig(
        vocab_size=VOCABULARY, hidden_size=p.hidden_size, num_hidden_layers=p.layers, num_attention_heads=4, intermediate_size=4 * p.hidden_size,
        max_position_embeddings=LENGTH, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, gamma=p.gamma, attn_implementation="clipped"))


class Majorities(torch.utils.data.Dataset):
    """Most tokens of an example are the same one, which a masked token most likely is, too. Every example is a function of its number."""

    def __init__(self, count, seed):
        self.count, self.seed = count, seed

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + number)
        tokens, most = torch.randint(1, VOCABULARY, (2, LENGTH), generator=generator)
        tokens = torch.where(torch.rand(LENGTH, generator=generator) < 0.8, most[0], tokens)
        masked = torch.rand(LENGTH, generator=generator) < 0.15
        masked[number % LENGTH] = True
        return {"input_ids": tokens.masked_fill(masked, MASK), "labels": tokens.masked_fill(~masked, -100)}


VALIDATION = Majorities(512, seed=999)
