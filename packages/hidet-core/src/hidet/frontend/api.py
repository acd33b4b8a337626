"""What a frontend plugin tells core about itself.

A plugin is a distribution with an entry point in the group `hidet.frontends`, whose name is the
frontend's and whose value is a `Frontend` in a module that imports no framework.
"""

from dataclasses import dataclass

API = 2
"""The number of this contract; it moves only when a plugin written for it would break."""


@dataclass(frozen=True, slots=True)
class Frontend:
    """The manifest of one plugin.

    `name` is the entry point's and the attribute of `hidet`; `api` the contract it was written for;
    `module` what `hidet.<name>` resolves to; `framework` the import name of what it speaks for;
    `requires` the framework versions it was tested with ("torch>=2.11,<2.14"), empty for no demand;
    `usable` is False for one that is announced: its functions say that they are not there yet.
    `host_steps` names a function, "hidet_toy.steps:steps", that makes host steps again of what
    files keep of them: from a mapping of payloads to one of steps, by the same keys. `files` says
    how names of model files end that `compile(path, device=...)` of the module takes, as the
    command `hidet` calls it; it gives a `frontend.files.CompiledFile`. `beside` names a function,
    "hidet_toy.beside:others", that gives other programs which run such a file; `beside_model` names
    one that gives what runs a model of the framework, by name, the framework itself first.
    """

    name: str
    api: int
    module: str
    framework: str
    requires: str = ""
    usable: bool = True
    host_steps: str = ""
    files: tuple[str, ...] = ()
    beside: str = ""
    beside_model: str = ""
