"""Inline PTX whose meaning the simulator is told: registers of every kind of value."""

import numpy as np

from hidet.lang import asm, attr, bf16, f16, i32, load, script, store
from hidet.lang.cuda import threadIdx


def halves(a, b):
    return a + b


@script
def packed(a: f16[64], b: bf16[32], c: f16[64], d: bf16[32], e: i32[32]):
    attr.cuda_block_dim = 32
    t = threadIdx.x
    both = load(a, t * 2, lanes=2)
    asm("add.f16x2 %0, %0, %1;", output_inputs=[both], inputs=[both], simulate=halves)
    store(c, t * 2, both)
    asm("neg.bf16 %0, %1;", outputs=[d[t]], inputs=[b[t]], simulate=np.negative)
    low: i32 = 0
    high: i32 = 0
    asm(
        "mov.b64 {%0, %1}, %2;",
        outputs=[low, high],
        inputs=[load(a, t // 2 * 4, lanes=4)],
        simulate=lambda x: tuple(np.ascontiguousarray(x).view(np.int32).reshape(-1, 2).T),
    )
    e[t] = low ^ high


def test_what_the_simulator_is_told(run):
    """Numbers and vectors that fill a register; the same bits on a GPU."""
    a, b = np.arange(64).astype(np.float16), np.arange(32).astype(bf16.numpy)
    rest = np.zeros(64, np.float16), np.zeros(32, bf16.numpy), np.zeros(32, np.int32)
    _, _, c, d, e = run(packed, a, b, *rest)
    assert c.tolist() == (2 * a).tolist()
    assert d.tolist() == (-b).tolist()
    words = a.view(np.int32).reshape(-1, 2)
    assert e.tolist() == np.repeat(words[:, 0] ^ words[:, 1], 2).tolist()
