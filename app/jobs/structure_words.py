"""Changes of a run's structure in words."""

from typing import Protocol


class Widths(Protocol):
    """A change of a layer (one of the engine fits, and one of the store)."""

    @property
    def layer(self) -> int: ...  # noqa: D102
    @property
    def before(self) -> int: ...  # noqa: D102
    @property
    def after(self) -> int: ...  # noqa: D102


def in_short(change: Widths) -> str:
    """Say how many topics a layer had and has, without naming those that went."""
    if not change.before:
        return f"layer {change.layer} begins with {change.after} topics"
    if change.before == change.after:
        return f"layer {change.layer} keeps all its {change.after} topics"
    return f"layer {change.layer} from {change.before} to {change.after} topics"
