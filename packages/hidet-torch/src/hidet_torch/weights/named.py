"""The tensors that the names of a model mean, and noticing when a name means another one."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from operator import getitem, is_
from typing import Any

import torch

from hidet.frontend.running.native import native

FEW = 16
"""Names up to which Python looks as quickly."""
SOURCE = """
extern "C" int same(void *const *tables, void *const *keys, void *const *held, long count,
                    void *(*item)(void *, void *)) {
  for (long i = 0; i < count; ++i)
    if (item(tables[i], keys[i]) != held[i]) return 0;
  return 1;
}
"""
POINTER = ctypes.c_void_p


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
        self.are_same = by_function(self.tables, self.keys, self.held) or self.by_python
        """Whether all names mean what they meant."""

    def by_python(self) -> bool:
        """The same where nothing is compiled; takes some 30 ns for each name, 200 after a call that
        took the caches."""
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


def by_function(
    tables: list[dict[str, Any]], keys: list[str], held: list[Any]
) -> Callable[[], bool] | None:
    """Whether tables have what is held at their keys: by a compiled function, which need not wait
    for one before it looks for the next; None for few, or without a compiler."""
    same = compiled() if len(keys) > FEW else None
    if same is None:
        return None
    alive = tables, keys, held
    arrays = [(POINTER * len(each))(*map(id, each)) for each in alive]
    item = ctypes.cast(ctypes.pythonapi.PyDict_GetItem, POINTER)

    def are_same() -> bool:
        return same(*arrays, len(alive[0]), item) == 1

    return are_same


@cache
def compiled() -> Callable[..., int] | None:
    """The compiled function, which holds Python's lock."""
    library = native(SOURCE, "names")
    if library is None:
        return None
    prototype = ctypes.PYFUNCTYPE(ctypes.c_int, *(POINTER,) * 3, ctypes.c_long, POINTER)
    return prototype(ctypes.cast(library.same, POINTER).value or 0)
