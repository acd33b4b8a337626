"""Several compiled forms of one model: which one a call takes depends on what it is given."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Generic, TypeVar

from hidet.errors.warning import warn

C = TypeVar("C")
K = TypeVar("K", bound=Hashable)


class VariantsWarning(UserWarning):
    """A model is compiled over and over, for other values of its inputs."""


class Variants(Generic[K, C]):
    """Compiled forms by key, made by `make` when first asked for; `kept` of them are kept.

    A key holds what a form was compiled for: types and ranks, and the values of inputs that shapes
    depend on. `what` names these inputs for the warning that comes with the eighth form.
    """

    def __init__(
        self, make: Callable[[K], C], what: Callable[[], str], kept: int = 32, many: int = 8
    ) -> None:
        self.make, self.what, self.kept, self.many = make, what, kept, many
        self.forms: OrderedDict[K, C] = OrderedDict()
        self.made = 0
        self.lock = RLock()

    def __call__(self, key: K) -> C:
        """The form for a key."""
        with self.lock:
            found = self.forms.get(key)
            if found is None:
                found = self.forms[key] = self.make(key)
                self.note()
            self.forms.move_to_end(key)
            return found

    def note(self) -> None:
        """Count a new form, say so if there are many, and drop the one not used for longest."""
        self.made += 1
        if len(self.forms) > self.kept:
            self.forms.popitem(last=False)
        if self.made == self.many:
            warn(
                VariantsWarning(
                    f"the model was compiled {self.made} times, for other values of {self.what()}; "
                    f"{self.kept} forms are kept"
                )
            )
