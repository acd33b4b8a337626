import torch

from hidet_torch.importing.place import module_path, place_of


def node(**meta: object) -> torch.fx.Node:
    made = torch.fx.Graph().placeholder("x")
    made.meta.update(meta)
    return made


def test_the_innermost_line_of_the_user_is_the_place() -> None:
    trace = (
        '  File "/home/me/model.py", line 12, in forward\n    y = self.linear(x)\n'
        f'  File "{torch.__path__[0]}/nn/modules/linear.py", line 125, in forward\n    return F'
    )
    stack = {"a": ("L['self']", None), "b": ("L['self']._modules['layers']['0'].linear", None)}
    found = place_of(node(stack_trace=trace, nn_module_stack=stack))
    assert found is not None
    assert (found.file, found.line) == ("/home/me/model.py", 12)
    assert found.function == "forward of layers.0.linear"


def test_nothing_is_known_of_a_node_without_a_trace() -> None:
    assert place_of(node()) is None
    assert module_path(None) == ""
