"""Workers whose graphics processor is the CPU with one lane, in processes that a test does not share."""

import os
import signal
from pathlib import Path
from typing import Any

from topiary.app.jobs import gpu
from topiary.app.jobs.cluster.holder import VISIBLE, DocumentHolder, HeldPart, RunSetup
from topiary.engine.gpu.devices import Device, OneLane

KILLED_AT = 12  # the step in which a worker of a `MortalHolder` ends


def list_two_cards() -> list[gpu.GraphicsCard]:
    """Two cards; a process that may use one of them sees that one."""
    seen = os.environ.get(VISIBLE, "0,1").split(",")
    return [gpu.GraphicsCard(f"Card {number.strip()}", 24 * 10**9, "13.0") for number in seen]


def open_one_lane(_config: Any, _facts: Any, _held: Any = None, _processes: int = 1) -> Device:
    """The CPU as a device, in the place of :func:`app.jobs.gpu.open_device`."""
    return OneLane()


class MortalHolder(DocumentHolder):
    """Documents of a worker that is killed once, by the first one that makes step ``KILLED_AT``."""

    def __init__(self, setup: RunSetup, part: HeldPart, threads: int) -> None:
        gpu.list_cards, gpu.open_device = list_two_cards, open_one_lane
        gpu.is_extra_installed = lambda: True
        super().__init__(setup, part, threads)

    def gather(self, state: Any) -> list[Any]:
        """Sweep all documents, or end."""
        mark = Path(self._setup.store.removeprefix("sqlite:///") + ".killed")
        if int(state.t) + 1 == KILLED_AT:
            try:
                mark.touch(exist_ok=False)
            except FileExistsError:
                return super().gather(state)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().gather(state)
