"""What torch.export says of models that it cannot capture, in terms of `hidet_torch.compile`."""

from __future__ import annotations

import re

from hidet.errors import BadArgument

OTHERWISE = """hidet_torch.compile(model, *inputs) captures the model by torch.export, for inputs
like those given. Where the model's way depends on values, torch.compile(model, backend="hidet")
compiles what lies between."""
GIVES, TAKES = (
    re.compile(pattern)
    for pattern in (r"^Found <class '(.+?)'> in output", r"^Unsupported input type <class '(.+?)'>")
)


def explained(error: Exception) -> Exception:
    """The error of torch.export with what else there is; for an object that it cannot take apart
    one that says how to do without."""
    for verb, pattern in (("gives", GIVES), ("takes", TAKES)):
        found = pattern.match(str(error))
        if found:
            return BadArgument(
                f"the model {verb} a {found[1]}, of which torch.export does not know the tensors",
                help='torch.compile(model, backend="hidet") takes such objects; or leave it out '
                "(use_cache=False, for a cache of transformers), or tell PyTorch how to take it "
                "apart: transformers.integrations.executorch.register_dynamic_cache_export_support "
                "for a DynamicCache, torch.utils._pytree.register_pytree_node for others",
            )
    error.add_note(OTHERWISE)
    return error
