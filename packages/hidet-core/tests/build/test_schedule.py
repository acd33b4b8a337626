"""Which candidates an operator has, under the options in force."""

import pickle

from hidet.build.ahead import Job
from hidet.build.kernels import group_of, settings, shape_of, worked_out
from hidet.build.schedule import choices
from hidet.fusion.group import Group
from hidet.graph.operator import OPERATORS
from hidet.graph.tensor import Node, Tensor
from hidet.options import options
from hidet.target import Target
from hidet.types import f16

GPU = Target.parse("sm_90a")


def product():
    """A product whose sum blocks may share, as a node."""
    kind = OPERATORS["matmul"]
    tensors = Tensor(f16[128, 768]), Tensor(f16[768, 768])
    return Node(kind(*(each.type for each in tensors)), tensors)


def test_the_whole_space_is_there_when_it_is_asked_for_after_a_part_of_it():
    op = product().op
    part = choices(op, GPU)
    with options(search_space=2):
        assert len(choices(op, GPU)) > len(part)
    assert choices(op, GPU) == part


def test_a_choice_of_the_whole_space_is_worked_out_by_other_processes_too():
    node = product()
    known = {each.choice for each in choices(node.op, GPU)}
    with options(search_space=2):
        fresh = next(each.choice for each in choices(node.op, GPU) if each.choice not in known)
        group = Group([node], node, choice=fresh)
        job = pickle.loads(pickle.dumps(Job(shape_of(group), GPU, settings())))
        wanted = worked_out(group_of(job.shape), GPU)
    assert job.answer() == wanted
