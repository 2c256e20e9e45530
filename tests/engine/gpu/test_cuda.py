"""The kernels are compiled for a card, which needs none; on a machine with one, they also run there."""

import os
import subprocess
import sys

import numpy as np
import pytest

from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu import devices

cuda = pytest.importorskip("numba_cuda", reason="numba-cuda is missing; pip install '.[gpu]'")

COMPILE = """
import sys
import numba
import numpy as np
from numba import cuda
from numba.cuda import dispatcher
from topiary.engine.gibbs.collapsed import THETA, SweepPlan
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu import devices
from topiary.engine.gpu.sweeps import DeviceSweeper
from topiary.engine.gpu.cuda import KernelBodies, view_pairs
from topiary.engine.gpu.launches import DeviceMoves
from topiary.engine.pool import Pool
from topiary.engine.streams import Address
from topiary.engine.topic_moves.steps import init_mean
from topiary.engine.topic_moves.rows import LayerAddress
from tests.engine.gpu.test_sweeps import draw_simplex, make_corpus

class Card:
    compute_capability = (9, 0)

dispatcher.get_current_device = lambda: Card

class Recorder(devices.OneLane):
    # Runs the kernels on the processor, and compiles each for the types of its arguments as a card gets them.
    lanes = int(sys.argv[1])
    bodies, seen = KernelBodies(lanes), {}

    def launch(self, kernel, n, *arguments):
        key, given = (kernel,), arguments
        if kernel in devices.GROUPED:
            (sizes, *given), none = arguments, np.zeros((0, 1), np.uint64)
            key = kernel, *sizes
            given = view_pairs(kernel, self.bodies.make_entry(*key), given, none)
        self.seen[key, tuple(map(numba.typeof, given))] = None
        super().launch(kernel, n, *arguments)

rng = np.random.default_rng(1)
phi = draw_simplex(rng, 50, 37), draw_simplex(rng, 37, 19), draw_simplex(rng, 19, 4)
r, batch, at = np.full(4, 0.5), make_corpus(rng, 20, 50, 6), Address(1, 2, 3)
plan, sweeper = SweepPlan(True, 1, 1), DeviceSweeper(Recorder(), Hyper(0.1, 0.1, 1.0, 1.0))
sums, swept = sweeper.gather(phi, r, batch, None, at, plan)
local = sweeper.load_locals(sweeper.redraw(phi, r, batch, swept, at), (37, 19, 4))
sweeper.rate_cells(phi, r, batch, batch, local, at, plan)
sweeper.place_documents(phi, r, batch, at, plan._replace(quantity=THETA))
moves, place = DeviceMoves(sweeper.device, Pool(1)), LayerAddress(1, 2, 1)
for simplex in ("exact", "clamp"):
    table = moves.scale_counts(sums, 2.0).tables[1]
    moved = moves.step_topics(simplex, phi[1], table, 0.1, np.ones(19), 0.1, place)
    for eta in (1e-4, 0.1):
        mean, _ = moves.update_mean(init_mean(phi[1]), table, eta, 20)
        moves.update_mean(mean, moves.draw_topics(table, eta, place), 0.0, 20)
for key, types in Recorder.seen:
    code, _ = cuda.compile_ptx(Recorder.bodies.make_entry(*key), numba.types.void(*types), cc=(9, 0))
    print(key[0], code.count("shfl.sync"), code.count("atom.") + code.count("red."), code.count("call"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("n_lanes", [8, 32])
def test_the_kernels_are_compiled_for_a_card(n_lanes):
    found = subprocess.run(
        [sys.executable, "-c", COMPILE, str(n_lanes)], capture_output=True, text=True, timeout=240, check=False
    )
    if "DynamicLibNotFoundError" in found.stderr or "libnvvm" in found.stderr:
        pytest.skip("the compiler of CUDA is missing; pip install nvidia-nvvm nvidia-cuda-nvcc nvidia-cuda-nvrtc")
    assert found.returncode == 0, found.stderr[-2000:]
    lines = [line.split() for line in found.stdout.splitlines()]
    assert {line[0] for line in lines} == {*devices.GROUPED, *devices.SINGLE}
    for kernel, *counts in lines:
        exchanges, additions, calls = map(int, counts)
        assert calls == 0  # everything is inlined
        assert exchanges > 0 or kernel not in {"tokens", "cells"}
        assert additions > 0 or kernel != "tokens"


MEMORY = """
import sys
import numpy as np
from numba.cuda.simulator.cudadrv import error
error.CudaDriverError = error.CudaSupportError  # which the simulator leaves out
from topiary.engine.gpu import cuda

cuda.KernelBodies = lambda n_lanes: None  # kernels are not simulated
device, after, addresses = cuda.CudaDevice(8), None, []
assert device.load(np.zeros((0, 3), np.int32)).shape == device.reserve((0, 3), np.int32).shape == (0, 3)
for i in range(4):  # as steps do, whose results take the place of those of the step before
    after = device.copy(device.load(np.full((50, 3), i, np.float32)))
    addresses.append(after._ary.ctypes.data)
    assert np.array_equal(device.read(after), np.full((50, 3), i))
assert len(set(addresses)) <= 3
"""


def test_results_of_a_step_take_the_memory_of_those_of_the_step_before():
    command = [sys.executable, "-c", MEMORY]
    found = subprocess.run(
        command,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.returncode == 0, found.stderr[-2000:]


def find_card():
    try:
        from numba import cuda as driver

        return driver.is_available()
    except ImportError:
        return False


@pytest.mark.skipif(not find_card(), reason="this machine has no graphics processor")
@pytest.mark.parametrize("n_lanes", [8, 16, 32])
def test_a_card_sweeps_with_counts_that_agree_and_the_same_bits_twice(n_lanes):
    from tests.engine.gpu.test_sweeps import Chain, draw_simplex, make_corpus
    from topiary.engine.gpu.cuda import CudaDevice
    from topiary.engine.gpu.sweeps import DeviceSweeper

    rng = np.random.default_rng(1)
    phi = (draw_simplex(rng, 50, 37), draw_simplex(rng, 37, 9), draw_simplex(rng, 9, 4))
    batch, results = make_corpus(rng, 100, 50, 8), []
    for _ in range(2):
        chain = Chain(phi, np.full(4, 0.5), batch, np.ones(3))
        chain.sweeper = DeviceSweeper(CudaDevice(n_lanes), Hyper(0.01, 0.01, 1.0, 1.0))
        for _ in range(5):
            sums = chain.sweep()
        results.append((*sums, np.asarray(chain.locals.theta), np.asarray(chain.locals.topics)))
    assert all(np.array_equal(one, other) for two in results[1:] for one, other in zip(results[0], two, strict=True))
    words = results[0][0]
    assert np.array_equal(words.sum(axis=1), np.bincount(batch.words, batch.counts, minlength=50))
    assert np.array_equal(words.sum(axis=0), np.bincount(results[0][-1], minlength=37))


@pytest.mark.skipif(not find_card(), reason="this machine has no graphics processor")
@pytest.mark.parametrize("simplex", ["exact", "clamp"])
def test_a_card_moves_topics_as_one_lane_does_and_with_the_same_bits_twice(simplex):
    from topiary.engine.gpu.cuda import CudaDevice
    from topiary.engine.gpu.launches import DeviceMoves
    from topiary.engine.pool import Pool
    from topiary.engine.topic_moves.rows import LayerAddress
    from topiary.engine.topic_moves.steps import init_mean

    rng, at, results = np.random.default_rng(2), LayerAddress(3, 7, 1), []
    counts, phi = rng.poisson(0.7, (300, 37)).astype(np.int32), rng.dirichlet(np.ones(300), 37).T
    for device in (devices.OneLane(), CudaDevice(8), CudaDevice(32)):
        moves = DeviceMoves(device, Pool(1))
        table = moves.make_table(device.load(counts), 1.5)
        moved = moves.step_topics(simplex, phi, table, 0.05, np.full(37, 4.0), 0.05, at)
        drawn = moves.draw_topics(table, 0.05, at)
        mean, _ = moves.update_mean(init_mean(phi), table, 0.05, 20)
        results.append([np.asarray(array) for array in (moved, drawn, *mean)])
    lane, *cards = results
    assert all(np.array_equal(one, other) for one, other in zip(*cards, strict=True))
    for one, other in zip(lane, cards[0], strict=True):  # logarithms differ in their last bits, and few choices by them
        assert np.isclose(one, other, rtol=1e-6, atol=1e-12).mean() > 0.999
