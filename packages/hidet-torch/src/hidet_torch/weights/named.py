"""The tensors that the names of a model mean, and noticing when a name means another one."""

from __future__ import annotations

from operator import getitem, is_
from typing import Any

import torch


class Named:
    """What every parameter, buffer and submodule of a model is, as it was when last looked at."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model
        self.look()

    def look(self) -> None:
        """Take what is there now for what should be there."""
        self.tensors = named_tensors(self.model)
        tables = [
            table
            for module in self.model.modules()
            for table in (module._parameters, module._buffers, module._modules)
        ]
        self.tables: list[dict[str, Any]] = [each for each in tables for _ in each]
        self.keys = [key for table in tables for key in table]
        self.held = [table[key] for table in tables for key in table]

    def are_same(self) -> bool:
        """Whether all names mean what they meant; takes some 30 ns for each."""
        if not self.keys:
            return True
        try:
            return all(map(is_, map(getitem, self.tables, self.keys), self.held))
        except KeyError:
            return False

    def replaced(self) -> dict[int, torch.Tensor] | None:
        """What stands in the place of which tensor now, by id; None if that is not all there is.

        It is more where names came or went, and where names of one tensor mean several now.
        """
        now = named_tensors(self.model)
        if now.keys() != self.tensors.keys():
            return None
        found: dict[int, torch.Tensor] = {}
        for name, tensor in now.items():
            if found.setdefault(id(self.tensors[name]), tensor) is not tensor:
                return None
        return found


def named_tensors(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers by name, each under all of its names."""
    return {
        **dict(model.named_parameters(remove_duplicate=False)),
        **dict(model.named_buffers(remove_duplicate=False)),
    }
