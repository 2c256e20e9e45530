"""Documents that stream through the memory of a device in blocks have the bits of those that fit."""

from dataclasses import replace

import numba
import numpy as np
import pytest

from tests.engine.gpu.test_devices import CONFIG, FACTS, GIVEN, LDA, draw_mini_batch, score, train
from topiary.engine.contract import Sweeps, flatten, unflatten
from topiary.engine.gibbs.upper import Hyper
from topiary.engine.gpu import memory
from topiary.engine.gpu.blocks import BlockSweeper, cut_rows, make_sweeper
from topiary.engine.gpu.devices import Buffers, DeviceArray, HostMemory, OneLane, SpareMemory
from topiary.engine.gpu.memory import DeviceError
from topiary.engine.models.dlda import kernel as dlda
from topiary.engine.models.dlda.settings import Config
from topiary.engine.models.lda_gibbs import kernel as lda_gibbs

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="many sweeps, too slow with the compiler off")


class SmallLane(OneLane):
    """A device whose copies to the host arrive as late as they may, and whose buffers forget all when they change."""

    def __init__(self, block):
        super().__init__(block)
        self.waiting, self.used, self.number = {0: [], 1: []}, 0, None

    def use_buffer(self, number, size):
        assert size <= self.block
        self._arrive(number)
        self.used, self.number = self.used + 1, number
        super().use_buffer(number, size)
        self._buffers._memory[:] = 0xA5

    def hold(self, shape, dtype):
        return np.full(shape, 77, dtype)

    def store(self, array, out):
        assert array.size == 0 or np.shares_memory(array, self._buffers._memory)
        self.waiting[self.number].append((array, out))

    def finish(self):
        self._arrive(0)
        self._arrive(1)
        super().finish()

    def _arrive(self, number):
        for array, out in self.waiting[number]:
            out[...] = array
        self.waiting[number].clear()


CASES = pytest.mark.parametrize(
    ("model", "config"),
    [
        (dlda, CONFIG),
        (dlda, replace(CONFIG, inference="tlasgr", batch_size=60)),
        (dlda, replace(CONFIG, inference="auto", first_minibatches=3, batch_size=60)),
        (dlda, replace(CONFIG, grow=True, grow_every=2)),
        (dlda, Config(layers=(7,), inference="gibbs", start="flat")),
        (dlda, Config(layers=(8, 6, 3), inference="gibbs", start="flat")),
        (lda_gibbs, GIVEN),
        (lda_gibbs, LDA),
    ],
    ids=["gibbs", "tlasgr", "auto", "grow", "one", "three", "lda", "lda-learnt"],
)


@CASES
def test_blocks_of_any_size_have_the_bits_of_a_run_that_fits(model, config):
    whole, found = model.build(config, FACTS, 1, OneLane()), []
    expected = flatten(train(whole, 5, 5)[0])
    for block in (14_000, 21_000, 10**7):
        device = SmallLane(block)
        found.append(flatten(train(model.build(config, FACTS, 1, device), 5, 5)[0]))
        assert device.used > 5 or block > 14_000  # which all 60 documents of a mini-batch fill
    assert all(np.array_equal(each[name], expected[name]) for each in found for name in expected)


@CASES
def test_a_run_in_blocks_continues_with_the_same_bits_from_a_state_that_was_stored(model, config):
    kernel = model.build(config, FACTS, 1, SmallLane(20_000))
    state, _ = train(kernel, 5, 4)
    assert isinstance(state.topics, DeviceArray) == kernel.is_sweeping(state)
    before = {name: array.copy() for name, array in flatten(state).items()}
    resumed = unflatten(model.State, before)
    others = [(device, resumed) for device in (SmallLane(15_000), OneLane())]
    one = flatten(train(kernel, 5, 2, state)[0])
    for device, start in others:
        two = flatten(train(model.build(config, FACTS, 2, device), 5, 2, start)[0])
        assert all(np.array_equal(one[name], two[name]) for name in one)
    assert all(np.array_equal(array, before[name]) for name, array in flatten(state).items())


@pytest.mark.parametrize(("model", "config"), [(dlda, CONFIG), (lda_gibbs, LDA)], ids=["dlda", "lda"])
def test_documents_are_evaluated_and_placed_in_blocks_with_the_same_bits(model, config):
    kernels = [model.build(config, FACTS, 1, device) for device in (OneLane(), SmallLane(15_000))]
    state, _ = train(kernels[0], 4, 3)
    state, docs = kernels[0].find_shown_state(state), draw_mini_batch(0)
    one, two = (score(kernel, state) for kernel in kernels)
    assert one == two
    one, two = (kernel.infer(1, state, docs, Sweeps(3, 4, 2)) for kernel in kernels)
    for ours, theirs in zip((*one.theta, one.tokens), (*two.theta, two.tokens), strict=True):
        assert np.array_equal(ours, theirs)
    chains = []
    for kernel in kernels:
        chain = kernel.start_chain(3, state, docs)
        for _ in range(2):
            chain, rates = kernel.advance_chain(3, state, chain, docs, docs, Sweeps(1, 2))
        chains.append((*flatten(chain).values(), rates.cells, rates.totals))
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(*chains, strict=True))


def test_a_document_larger_than_a_buffer_is_a_block_by_itself():
    assert list(cut_rows(np.array([3, 4, 30, 2, 2, 9]), 8)) == [
        (slice(0, 2), 7), (slice(2, 3), 30), (slice(3, 5), 4), (slice(5, 6), 9),
    ]  # fmt: skip
    expected = flatten(train(dlda.build(CONFIG, FACTS, 1, OneLane()), 5, 2)[0])
    alone = flatten(train(dlda.build(CONFIG, FACTS, 1, OneLane(1)), 5, 2)[0])
    assert all(np.array_equal(alone[name], expected[name]) for name in expected)


def test_a_buffer_gives_arrays_that_do_not_overlap_until_it_is_full():
    buffers = Buffers(lambda size: np.zeros(size, np.uint8))
    assert buffers.take((3,), np.float32) is None
    buffers.use(0, 1000)
    first, second = buffers.take((3, 5), np.float32), buffers.take((7,), np.int64)
    assert not np.shares_memory(first, second)
    assert (first.shape, second.dtype) == ((3, 5), np.int64)
    with pytest.raises(DeviceError, match="larger than its buffer"):
        buffers.take((1000,), np.uint8)
    buffers.use(1, 100)
    assert not np.shares_memory(first, buffers.take((3,), np.uint8))
    buffers.use(0, 1000)
    assert np.shares_memory(first, buffers.take((3,), np.uint8))


def test_memory_of_the_host_is_used_again_once_no_array_refers_to_it():
    reserved = []

    def reserve(size):
        reserved.append(np.zeros(size, np.uint8))
        return reserved[-1]

    held = HostMemory(reserve)
    part = held.take((6, 5), np.float32)[2:4]
    part[:] = 7.0
    other = held.take((6, 5), np.float32)
    assert not np.shares_memory(part, other)
    assert np.shares_memory(part, reserved[0])  # a part of an array keeps its memory
    del part
    assert np.shares_memory(held.take((25,), np.int32), reserved[0])
    held.take((2,), np.uint16)  # far smaller: has memory of its own
    assert [len(memory) for memory in reserved] == [120, 120, 4]


def test_memory_of_a_device_is_used_again_and_given_up_when_asked():
    reserved = []
    memory = SpareMemory(lambda size: reserved.append(size) or np.zeros(size, np.uint8))
    first, second = memory.take((8, 5), np.float64), memory.take((8, 5), np.float64)
    assert not np.shares_memory(first, second)
    del first
    third = memory.take((40,), np.float64)
    assert reserved == [320, 320]
    assert not np.shares_memory(second, third)
    del second, third
    memory.clear()
    memory.take((40,), np.float64)
    assert reserved == [320] * 3


def test_documents_stream_only_if_they_do_not_fit():
    hyper = Hyper(0.01, 0.01, 1.0, 1.0)
    assert isinstance(make_sweeper(OneLane(10), hyper), BlockSweeper)
    assert not isinstance(make_sweeper(OneLane(), hyper), BlockSweeper)
    widths, corpus = (128, 64, 32), (10_000, 10**8, 10**10)
    assert memory.choose_block(widths, *corpus, 10**12) is None
    block = memory.choose_block(widths, *corpus, 24 * 10**9)
    assert 10**10 < block < 12 * 10**9
    assert 2 * block + memory.count_bytes(widths, 10_000, 0, 0) < 24 * 10**9
    with pytest.raises(DeviceError, match="do not fit"):
        memory.choose_block(widths, *corpus, 10**8)
