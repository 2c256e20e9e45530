"""The kernels are compiled for a card, which needs none; on a machine with one, they also run there."""

import subprocess
import sys

import numpy as np
import pytest

from engine.gibbs.upper import Hyper

cuda = pytest.importorskip("numba_cuda", reason="numba-cuda is missing; pip install '.[gpu]'")

COMPILE = """
import sys
import numba
from numba import cuda, types
from numba.cuda import dispatcher
from engine.gibbs.upper import Hyper
from engine.gpu.cuda import KernelBodies

class Card:
    compute_capability = (9, 0)

dispatcher.get_current_device = lambda: Card
i32, i64, f32, u16, u64 = types.int32, types.int64, types.float32, types.uint16, types.uint64
def rows(kind): return types.Array(kind, 2, "C")
def line(kind): return types.Array(kind, 1, "C")
start = (i64, i64, i64, line(i32), line(i64))
arguments = {
    "tokens": (*start, line(i64), *(line(u16),) * 3, *(rows(u64),) * 4, types.boolean, rows(i32)),
    "tables": (*start, line(i64), line(u16), rows(i32), *(rows(u64),) * 2, rows(f32), rows(i32), types.boolean,
               rows(i32)),
    "activations": (*start, *(rows(u64),) * 3, rows(i32), rows(f32), i64, rows(f32)),
    "sums": (rows(f32), i64, i64, rows(f32)),
    "rates": (numba.typeof(Hyper(.1, .1, 1., 1.)), i64, i64, i64, line(i64), line(i64), rows(f32), types.float64,
              types.boolean, types.boolean, rows(f32), rows(f32), line(i64)),
    "fill": (types.float64, i64, rows(f32)),
}
bodies = KernelBodies(int(sys.argv[1]))
sizes = {"tokens": (96, 64), "tables": (70, 64), "activations": (64, 32)}
for kernel, types_of in arguments.items():
    code, _ = cuda.compile_ptx(bodies.make_entry(kernel, *sizes.get(kernel, ())), types.void(*types_of), cc=(9, 0))
    print(kernel, code.count("shfl.sync"), code.count("atom.") + code.count("red."), code.count("call"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("n_lanes", [8, 32])
def test_the_kernels_are_compiled_for_a_card(n_lanes):
    found = subprocess.run(
        [sys.executable, "-c", COMPILE, str(n_lanes)], capture_output=True, text=True, timeout=120, check=False
    )
    if "libnvvm" in found.stderr:
        pytest.skip("the compiler of CUDA is missing; pip install nvidia-nvvm nvidia-cuda-nvcc")
    assert found.returncode == 0, found.stderr[-2000:]
    counts = {line.split()[0]: list(map(int, line.split()[1:])) for line in found.stdout.splitlines()}
    assert set(counts) == {"tokens", "tables", "activations", "fill", "sums", "rates"}
    assert all(calls == 0 for _, _, calls in counts.values())  # everything is inlined
    assert all(counts[kernel][0] > 0 for kernel in ("tokens", "tables"))
    assert counts["tokens"][1] > 0


def find_card():
    try:
        from numba import cuda as driver

        return driver.is_available()
    except ImportError:
        return False


@pytest.mark.skipif(not find_card(), reason="this machine has no graphics processor")
@pytest.mark.parametrize("n_lanes", [8, 16, 32])
def test_a_card_sweeps_with_counts_that_agree_and_the_same_bits_twice(n_lanes):
    from engine.gpu.cuda import CudaDevice
    from engine.gpu.sweeps import DeviceSweeper
    from tests.engine.gpu.test_sweeps import Chain, draw_simplex, make_corpus

    rng = np.random.default_rng(1)
    phi = (draw_simplex(rng, 50, 37), draw_simplex(rng, 37, 9), draw_simplex(rng, 9, 4))
    batch, results = make_corpus(rng, 100, 50, 8), []
    for _ in range(2):
        chain = Chain(phi, np.full(4, 0.5), batch, np.ones(3))
        chain.sweeper = DeviceSweeper(CudaDevice(n_lanes), Hyper(0.01, 0.01, 1.0, 1.0))
        for _ in range(5):
            sums = chain.sweep()
        results.append((*sums, np.asarray(chain.locals.theta), np.asarray(chain.locals.topics)))
    assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))
    words = results[0][0]
    assert np.array_equal(words.sum(axis=1), np.bincount(batch.words, batch.counts, minlength=50))
    assert np.array_equal(words.sum(axis=0), np.bincount(results[0][-1], minlength=37))
