"""RMSProp: every parameter steps by its gradient over a running root mean square of its gradients.

Hinton's lecture 6e of "Neural networks for machine learning" (2012), as Ranganath et al. (2015) use it: the mean of
squares begins with the first of them, ``G <- (1 - 1/window) G + g^2 / window``, and a step is ``rate g / sqrt(G)``.
The root of G is kept, not G, so that single precision holds it.
"""

from math import sqrt
from typing import NamedTuple

from engine.jit import inlined


class Pace(NamedTuple):
    """How far a step goes: ``rate`` of this step, ``window`` of the running mean."""

    rate: float
    window: float


@inlined
def stepped(pace: Pace, gradient: float, root: float) -> tuple[float, float]:
    """The step of one parameter uphill, and the root of its running mean of squares; a root of 0 has seen none."""
    size = abs(gradient)
    if not size < 1e30:  # nan or too large: this sample says nothing
        return 0.0, root
    squared = (1.0 - 1.0 / pace.window) * root * root + gradient * gradient / pace.window
    root = sqrt(squared) if root > 0.0 else size
    return (pace.rate * gradient / root if root > 0.0 else 0.0), root
