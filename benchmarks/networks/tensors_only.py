"""Models of transformers as exporters want them: tensors go in by position and come out alone."""

from __future__ import annotations

import torch
from torch import nn
from transformers import DynamicCache


class First(nn.Module):
    """A model whose first result is what counts, called with keyword arguments by these names."""

    def __init__(self, model: nn.Module, *names: str) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        named = dict(zip(self.names, inputs, strict=True))
        return self.model(**named, return_dict=False)[0]


class WithCache(nn.Module):
    """A language model that reads tokens after a past, of which it is given keys and values of each
    layer, and gives logits and the keys and values with its own."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor, *past: torch.Tensor) -> tuple[torch.Tensor, ...]:
        cache = DynamicCache([*zip(past[::2], past[1::2], strict=True)])
        out = self.model(tokens, past_key_values=cache, use_cache=True)
        kept = [each for layer in cache.layers for each in (layer.keys, layer.values)]
        return out.logits, *kept


class LstmClassifier(nn.Module):
    """Tokens (n, length) to logits (n, classes): an embedding, a bidirectional LSTM of two layers,
    and a dense layer on its last states."""

    def __init__(self, vocabulary: int, width: int, classes: int = 5) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True, bidirectional=True)
        self.classifier = nn.Linear(2 * width, classes)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        _, (last, _) = self.lstm(self.embedding(tokens))
        return self.classifier(torch.cat((last[-2], last[-1]), 1))
