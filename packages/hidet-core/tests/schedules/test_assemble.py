"""Script kernels put together: tensors of one name are one."""

from hidet.lang import attr, f32, script, shared_tensor
from hidet.lang.cuda import tensor_map, threadIdx, tma_store
from hidet.schedules.assemble import assemble, operand_type


def two_kernels():
    @script
    def first(x: f32[8], unused: f32[1], between: f32[8]):
        attr.cuda_block_dim = 8
        between[threadIdx.x] = x.get(threadIdx.x)

    @script
    def second(between: f32[8], y: f32[8]):
        attr.cuda_block_dim = 8
        y.put(threadIdx.x, between[threadIdx.x])

    return [first, second]


def test_kernels_share_tensors_by_name():
    module = assemble("both", two_kernels(), ["x"], ["y"], ["between", "unused"])
    first, second = module.kernels
    assert [p.name for p in module.params] == ["x", "y"]
    assert [p.name for p in module.workspaces] == ["between"]
    assert first.params[1] is second.params[0] is module.workspaces[0]
    assert [call.args for call in module.calls] == [first.params, second.params]


def test_an_operand_that_nothing_touches_stays_a_parameter():
    module = assemble("both", two_kernels(), ["x", "unused"], ["y"], ["between"])
    assert [p.name for p in module.params] == ["x", "unused", "y"]
    assert [p.name for p in module.kernels[0].params] == ["x", "between"]


def test_tensor_maps_follow_their_tensors():
    @script
    def third(y: f32[8]):
        attr.cuda_block_dim = 8
        tile = shared_tensor(f32, 4)
        tma_store(tensor_map(y, (4,)), 0, tile)

    module = assemble("three", [*two_kernels(), third], ["x"], ["y"], ["between", "unused"])
    (map,) = module.kernels[2].maps
    assert map.tensor is module.kernels[2].params[0] is module.params[1]


def test_an_operand_may_be_missing():
    assert operand_type(None, f32[3, 4]) == f32[1]
    assert operand_type(f32[4], f32[3, 4]) == f32[4]
