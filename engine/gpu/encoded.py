"""Sweeps on a device that begin at activations drawn by an encoder, for models that have one.

The encoder stays on the processor.  Its draw of theta for a mini-batch goes to the device, which draws the topic of
every token in proportion to ``phi_vk theta_jk`` (models.md 1.1, step 1) and sweeps from there, or carries the counts to
the top of the hierarchy at once.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topiary.engine.contract import Batch, FloatArray, Rates
from topiary.engine.gibbs.collapsed import SweepPlan
from topiary.engine.gibbs.local import SweepSums
from topiary.engine.gpu.devices import DeviceLocals, read_arrays
from topiary.engine.gpu.draws import LEAST
from topiary.engine.gpu.launches import StepLaunches, wrap_counts
from topiary.engine.gpu.sweeps import DeviceSweeper
from topiary.engine.streams import Address


class EncodedDocuments(NamedTuple):
    """The draw of an encoder for some documents: ``theta[l-1]`` (documents, K_l), and rates ``c`` (documents, L)."""

    theta: Sequence[FloatArray]
    c: FloatArray


class EncodedSweeper(DeviceSweeper):
    """The sweeps on one device of documents whose activations an encoder drew."""

    def gather_encoded(
        self,
        phi: tuple[FloatArray, ...],
        r: FloatArray,
        batch: Batch,
        encoded: EncodedDocuments,
        at: Address,
        plan: SweepPlan,
    ) -> SweepSums:
        """Sweep the documents of a mini-batch from the encoder's draw, and count the kept sweeps."""
        run = self.start_batch(phi, r, batch, at)
        return read_arrays(self._sweep(run, self._assign_tokens(run, encoded, keep=False), plan)[0])

    def carry_encoded(
        self, phi: tuple[FloatArray, ...], r: FloatArray, batch: Batch, encoded: EncodedDocuments, at: Address
    ) -> SweepSums:
        """Count the tokens of a mini-batch by the encoder's draw, and carry their counts to the top."""
        run = self.start_batch(phi, r, batch, at)
        run.carry_counts(self._assign_tokens(run, encoded, keep=True))
        return read_arrays(wrap_counts(self.device, run.shared))

    def rate_encoded(
        self,
        phi: tuple[FloatArray, ...],
        r: FloatArray,
        observed: Batch,
        scored: Batch,
        encoded: EncodedDocuments,
        at: Address,
        plan: SweepPlan,
    ) -> Rates:
        """Sweep ``observed`` from the encoder's draw and sum the rates of the ``scored`` cells over the kept sweeps."""
        run = self.start_batch(phi, r, observed, at)
        return self._rate_cells(run, scored, self._assign_tokens(run, encoded, keep=False), plan)[1]

    def _assign_tokens(self, run: StepLaunches, encoded: EncodedDocuments, *, keep: bool) -> DeviceLocals:
        """Return local variables on the device that begin at the encoder's draw.

        Activations that single precision does not hold are the least that the sampler draws.
        """
        first, *theta = (self._load_rows(np.maximum(layer, LEAST)) for layer in encoded.theta)
        c = self.device.load(np.ascontiguousarray(encoded.c, dtype=np.float32))
        return DeviceLocals(run.assign_tokens(first, keep=keep), tuple(theta), c)
