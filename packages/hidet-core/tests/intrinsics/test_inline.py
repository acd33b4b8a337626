"""Inline PTX: the text of the statement, and that NVRTC takes it."""

import numpy as np
import pytest

import hidet
from hidet import sim
from hidet.codegen import cuda
from hidet.driver import build_ir_module
from hidet.errors import HidetError
from hidet.lang import asm, attr, f32, i32, load, script, u8, u32
from hidet.lang.cuda import threadIdx
from hidet.passes.pipeline import lower
from hidet.toolchain import compile_cuda


@script
def written(a: u32[32], b: f32[32], c: u32[32]):
    attr.cuda_block_dim = 32
    lane: u32 = 0
    asm("mov.u32 %0, %%laneid;", outputs=[lane])
    asm("add.u32 %0, %0, %1;", output_inputs=[lane], inputs=[a[threadIdx.x]])
    asm("add.f32 %0, %1, %2;", outputs=[b[threadIdx.x]], inputs=[b[threadIdx.x], 0.5])
    asm("bar.sync 0;", is_volatile=True, memory_fence=True)
    c[threadIdx.x] = lane


def test_the_statements():
    text = cuda.emit([lower(written.kernel)])
    assert 'asm("mov.u32 %0, %%laneid;" : "=r"(' in text
    assert 'asm("add.u32 %0, %0, %1;" : "+r"(' in text
    assert 'asm("add.f32 %0, %1, %2;" : "=f"(' in text
    assert 'asm volatile("bar.sync 0;" :  :  : "memory");' in text


def test_nvrtc_takes_them():
    assert compile_cuda(cuda.emit([lower(written.kernel)]), arch="sm_90a")


def test_the_simulator_says_that_it_cannot():
    arrays = np.zeros(32, np.uint32), np.zeros(32, np.float32), np.zeros(32, np.uint32)
    function = build_ir_module(written.ir_module(), target="sim")
    with pytest.raises(HidetError, match="does not know what this PTX does"):
        function(*arrays)


@pytest.mark.gpu
def test_on_a_gpu():
    a = hidet.asarray(np.arange(32, dtype=np.uint32)).cuda()
    b = hidet.asarray(np.zeros(32, np.float32)).cuda()
    c = hidet.asarray(np.zeros(32, np.uint32)).cuda()
    build_ir_module(written.ir_module())(a, b, c)
    assert c.cpu().numpy().tolist() == [2 * i for i in range(32)]
    assert b.cpu().numpy().tolist() == [0.5] * 32


def test_a_meaning_of_another_number_of_results():
    def two(a: u32[32]):
        attr.cuda_block_dim = 32
        asm("not.b32 %0, %1;", outputs=[a[0]], inputs=[a[1]], simulate=lambda x: (x, x))

    with pytest.raises(HidetError, match="2 values are given for 1 results"):
        sim.launch(script(two), np.zeros(32, np.uint32))


def refused(message, body):
    with pytest.raises(HidetError, match=message):
        script(body)


def test_operands_without_a_register():
    def byte(a: u8[32]):
        attr.cuda_block_dim = 32
        asm("nop;", inputs=[a[0]])

    refused("no register for u8", byte)

    def wide(a: f32[32]):
        attr.cuda_block_dim = 32
        asm("nop;", inputs=[load(a, 0, lanes=4)])

    refused("no register for f32x4", wide)


def test_an_output_must_be_a_place():
    def number(a: i32[32]):
        attr.cuda_block_dim = 32
        asm("mov.u32 %0, 1;", outputs=[a[0] + 1])

    refused("an output of asm\\(\\) is a variable or an element", number)
