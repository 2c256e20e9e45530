"""The graphics processors by which the workers of a place sweep documents, one for each."""

import os
from typing import NamedTuple

from topiary.app.jobs import gpu
from topiary.app.jobs.cluster.place import WorkPlace

VISIBLE = "CUDA_VISIBLE_DEVICES"  # environment variable that lists the cards that a process sees


class AssignedCard(NamedTuple):
    """The card of a process that sweeps documents for a run.

    Attributes
    ----------
    card : str
        The card as CUDA_VISIBLE_DEVICES names it; "" for the first one that the process sees.
    processes : int
        Number of processes that share its memory.
    """

    card: str = ""
    processes: int = 1

    def use(self) -> None:
        """Let this process see no other card; it must not have used one before."""
        if self.card:
            os.environ[VISIBLE] = self.card


def assign_cards(where: WorkPlace) -> list[AssignedCard]:
    """Return the cards that the workers of a place use in turn; none if processors sweep there.

    Processes of this machine use its cards in turn, and workers elsewhere the first card that each of them sees.

    Raises
    ------
    GpuError
        When processes of this machine should use its cards, and it has none, or numba-cuda is missing.
    """
    if not where.has_cards:
        return []
    return _assign_here(where.processes) if where.processes else [AssignedCard()]


def _assign_here(n: int) -> list[AssignedCard]:
    """Return the card of each of ``n`` processes of this machine."""
    gpu.check_card()
    n_cards = len(gpu.list_cards())
    names = os.environ[VISIBLE].split(",") if VISIBLE in os.environ else list(map(str, range(n_cards)))
    return [AssignedCard(names[i % n_cards].strip(), len(range(i % n_cards, n, n_cards))) for i in range(n)]
