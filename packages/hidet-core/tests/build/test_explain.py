"""Which operators share a kernel, as text."""

import pytest

from hidet import ops
from hidet.build.choosing.grouping import grouped, optimized
from hidet.build.reports.explain import explain_fusion
from hidet.build.target import target_for
from hidet.graph import symbol, trace_from, tracing
from hidet.optimize import split
from hidet.options import options
from hidet.testing.fuzz import random_case
from hidet.testing.graph_passes import weight


def test_groups_and_reasons():
    x = symbol((4, 256))
    y = ops.relu(ops.matmul(x, weight(256, 64)))
    graph = trace_from([ops.softmax(y), ops.sum(y, 0)], [x])
    text = explain_fusion(graph, "sm_90a")
    lines = text.splitlines()
    assert lines[0] == "main: 3 kernels"
    assert lines[1].startswith(
        "matmul_relu: anchor matmul, schedule matmul_small_m on CUDA cores, "
    )
    assert any("2 readers (softmax, sum) are apart" in line for line in lines)
    assert any(line.startswith("softmax: automatic schedule") for line in lines)


def test_what_is_folded_is_a_part_of_its_own():
    x = symbol((2, 4, 5))
    y = ops.batch_norm(ops.conv1d(x, weight(6, 4, 3)), weight(6), weight(6, low=0.5))
    text = explain_fusion(trace_from([ops.reshape(y, (-1,))], [x]), "cpu")
    assert text.startswith("prepare: ")
    assert "\nmain: 1 kernel\n" in text


def test_what_the_caller_gets_is_there_for_others():
    x = symbol((8, 16))
    y = ops.softmax(ops.relu(x))
    text = explain_fusion(trace_from([y, ops.sum(y, 0)], [x]), "sm_90a")
    assert "    apart: sum reads it from memory: the caller gets it too, so it is there" in text


def test_a_view_takes_no_kernel():
    x = symbol((2, 6))
    y = ops.reshape(ops.softmax(x), (3, 4))
    text = explain_fusion(trace_from([ops.sum(y, 0), ops.sum(y, 1)], [x]), "cpu")
    assert "another shape of what lies in memory, no kernel" in text


def square():
    return symbol((16, 16))


def reasons(outputs, inputs):
    """Why operators are apart, without those that are not asked about."""
    lines = trace_from(outputs, inputs).explain("sm_90a").splitlines()
    return [line.removeprefix("    apart: ") for line in lines if line.startswith("    apart: ")]


def test_each_neighbour_has_a_reason():
    x, w = square(), square()
    product, relu = ops.matmul(x, w), ops.relu(x)
    once = "an element of matmul takes many others: it is computed once"
    assert reasons([ops.softmax(product)], [x, w]) == [f"softmax reads it from memory: {once}"]
    assert reasons([product + ops.matmul(w, x)], [x, w]) == [f"add reads it from memory: {once}"]
    assert reasons([ops.cumsum(relu, 1)], [x]) == [
        "cumsum reads it from memory: cumsum is always computed by itself"
    ]
    assert reasons([product, ops.cumsum(product, 1)], [x, w]) == [
        "cumsum reads it from memory: cumsum is always computed by itself"
    ]
    assert reasons([product, ops.relu(product)], [x, w]) == []
    assert reasons([ops.sum(ops.exp(x), 1), relu, ops.exp(x) * 2.0], [x])[-1:] == [
        "sum reads it from memory: 2 operators read it, and it is computed once for them"
    ]


def test_a_reason_that_no_longer_holds_is_not_told():
    """The product of the exponential was apart at first, and is one kernel with it at last."""
    x = square()
    told = reasons([ops.sum(ops.exp(x), 1), ops.exp(x) * 2.0], [x])
    assert told
    assert not any("multiply reads it" in each for each in told)


def test_who_reads_the_same_is_told():
    x = square()
    told = reasons([ops.relu(x), ops.permute(ops.tanh(x[:8]), (1, 0))], [x])
    assert told == ["relu reads the same, and is apart: its results have another shape"]


def test_why_an_element_is_not_made_beside_an_anchor():
    x, w = square(), square()
    y = ops.matmul(x, w)
    assert reasons([y, ops.permute(y, (1, 0))], [x, w]) == [
        "permute is apart: what lies side by side would be written far apart"
    ]
    assert reasons([y, ops.flip(y, 1)], [x, w]) == [
        "slice is apart: it needs elements that another thread of the kernel computes"
    ]
    between = "add is apart: another kernel has to run between the two"
    assert between in reasons([y, y + ops.cumsum(y, 1)], [x, w])


@pytest.mark.parametrize("seed", range(12))
def test_no_neighbour_is_passed_over(seed):
    graph = random_case(41_000 + seed).graph
    target = target_for(graph, "sm_90a")
    main = split(optimized(graph, target)).main
    sections = explain_fusion(graph, target).partition("main: ")[2].split("\n")
    told = {}
    for line in sections[1:]:
        if not line.startswith(" "):
            last = line.partition(":")[0]
        elif line.startswith("    apart: "):
            told.setdefault(last, "")
            told[last] += line
    groups = grouped(main, target)
    for group in (each for each in groups if not each.is_free):
        for other in groups:
            for node in other.nodes if other is not group else ():
                if set(group.results) & set(node.inputs) & set(other.inputs):
                    assert node.op.name in told[group.name]


def test_bodies_of_control_flow_are_explained_below_the_plan_that_runs_them():
    x = symbol((3, 8))

    def body(y):
        return [ops.if_(ops.less(ops.sum(y), 0.0), ops.exp, ops.tanh, y)], []

    (last,), _ = ops.scan(body, [x], [], length=300)
    text = explain_fusion(trace_from(last, x))
    assert "control flow, which runs other plans" in text
    found = [line.split(":")[0] for line in text.splitlines() if line.startswith("main")]
    loop = found[1].removesuffix(".body")
    assert loop.startswith("main.loop")
    assert [each.rsplit(".", 1)[1] for each in found[1:]] == ["body", "then", "else"]


@pytest.mark.parametrize(
    ("sizes", "dtype", "target", "schedule", "needs"),
    [
        ((4096, 1024, 1024), "float16", "sm_90a", "matmul_wgmma on tensor cores", ""),
        ((64, 1021, 1023), "float16", "sm_90a", "matmul_mma on tensor cores",
         "matmul_wgmma would be, but needs 1021 and 1023 to be multiples of 8"),
        ((256, 254, 512), "bfloat16", "sm_90a", "matmul_stages on tensor cores",
         "matmul_wgmma would be, but needs 254 to be multiples of 8"),
        ((512, 1021, 1021), "float64", "sm_90a", "matmul_simt on CUDA cores", ""),
        ((4096, 1021, 1023), "float16", "cpu", "", ""),
    ],
)  # fmt: skip
def test_units_are_named_and_what_a_faster_schedule_needs(sizes, dtype, target, schedule, needs):
    m, k, n = sizes
    x, w = symbol((m, k), dtype), symbol((k, n), dtype)
    lines = explain_fusion(trace_from([ops.matmul(x, w)], [x, w]), target).splitlines()
    assert f"schedule {schedule}" in lines[1]
    assert " on " in lines[1] or target == "cpu"
    faster = [line for line in lines if "faster" in line]
    assert faster == ([f"    faster: {needs}"] if needs else [])


def test_it_says_why_a_faster_schedule_does_not_read_what_the_group_computes():
    q, k, v = (symbol(s, "float16") for s in ((1, 32, 512, 64), (1, 8, 512, 64), (1, 8, 64, 512)))
    graph = trace_from([ops.attention(q, k, ops.transpose(v), causal=True)], [q, k, v])
    needs = "attention_wgmma would be, but does not read v: its rows are not neighbours in memory"
    assert f"    faster: {needs}" in explain_fusion(graph, "sm_90a").splitlines()


@pytest.mark.parametrize(
    ("dtype", "target", "says"),
    [
        ("bfloat16", "cpu+avx512", "bfloat16 is converted to float32, since cpu+avx512 has no "
         "AVX512-BF16 (+bf16)"),
        ("bfloat16", "cpu+avx512+bf16", ""),
        ("float16", "cpu+avx512+bf16", "float16 is converted to float32, which CPUs multiply"),
        ("float32", "cpu+avx2", ""),
        ("bfloat16", "sm_90a", ""),
    ],
)  # fmt: skip
def test_a_matmul_by_conversion_says_so(dtype, target, says):
    x, w = symbol((129, 64), dtype), symbol((64, 31), dtype)
    lines = explain_fusion(trace_from([ops.relu(ops.matmul(x, w))], [x, w]), target).splitlines()
    assert [each for each in lines if "slower" in each] == ([f"    slower: {says}"] if says else [])


@pytest.mark.parametrize(
    ("length", "target", "told"),
    [(32, "cpu", []), (64, "cpu", ["64"]), (1009, "cpu", ["1009"]), (8192, "cpu", ["8192"]),
     (8192, "sm_90a", []), ("n", "cpu", ["n"])],
)  # fmt: skip
def test_long_fourier_transforms_on_a_cpu_are_told(length, target, told):
    with tracing():  # as frontends import: matrices are nodes, not values
        graph = trace_from([ops.dft(symbol((3, length, 2), name="x"))])
    found = [line for line in explain_fusion(graph, target).splitlines() if "Fourier" in line]
    assert [line.split(" elements")[0].rsplit(" ", 1)[1] for line in found] == told
    assert all(line.startswith("slower than elsewhere: ") for line in found)


def test_an_option_keeps_products_from_tensor_cores():
    x, w = symbol((64, 96), "float32"), symbol((96, 96), "float32")
    with options(mma="simt"):
        text = explain_fusion(trace_from([ops.matmul(x, w)], [x, w]), "sm_80")
    assert " on CUDA cores, " in text
