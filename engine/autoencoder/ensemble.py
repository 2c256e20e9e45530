"""Several encoders of one model: each learns from a start of its own, and predictions are their mean.

Lakshminarayanan, Pritzel and Blundell, "Simple and scalable predictive uncertainty estimation using deep ensembles"
(NIPS 2017).  The posterior of a classifier's last layer, which DATM keeps (eq. 33), says nothing of the encoder below
it, where most of the doubt is.  All encoders read the same mini-batches over the same topics; the first is the
model's own, which draws the activations that move topics and tells a document's place.
"""

from collections.abc import Iterable, Iterator

from engine import streams
from engine.autoencoder import adam
from engine.autoencoder.hybrid import State
from engine.contract import Array, FloatArray

PARTS = 4  # of an encoder in ``State.others``: weights, their two moments, their running mean


def seed_of(seed: int, number: int) -> int:
    """The seed of encoder ``number``, the run's own for number 0."""
    return seed if number == 0 else int(streams.generator(seed, streams.MEMBERS, number).integers(1 << 63))


def begun(state: State, others: Iterable[tuple[FloatArray, ...]]) -> State:
    """The state with further encoders and their classifiers, which begin at the weights ``others``."""
    started = (state._replace(weights=weights, steady=(), **adam.start(weights)._asdict()) for weights in others)
    return gathered(state, started)


def members(state: State) -> Iterator[State]:
    """The state as each encoder sees it, the model's own first."""
    yield state._replace(others=())
    n = len(state.weights)
    for first in range(0, len(state.others), PARTS * n):
        parts = [state.others[at : at + n] for at in range(first, first + PARTS * n, n)]
        weights, moments, squares, steady = parts
        steady = steady if state.steady else ()  # averaged from the same step on as the first encoder's
        yield state._replace(weights=weights, first=moments, second=squares, steady=steady, others=())


def gathered(state: State, others: Iterable[State]) -> State:
    """The state whose further encoders are those of ``others``.

    All have the same parts: before labels count the weights fill the place of a running mean, which nobody reads.
    """
    rows: tuple[FloatArray, ...] = ()
    for member in others:
        rows += (*member.weights, *member.first, *member.second, *(member.steady or member.weights))
    return state._replace(others=rows)


def keep(state: State) -> dict[str, Array]:
    """What a snapshot keeps of further encoders: the weights that predict, ``encoder.1.0``, ``encoder.1.1`` ..."""
    _, *others = members(state)
    return {
        f"encoder.{number}.{i}": weight
        for number, member in enumerate(others, 1)
        for i, weight in enumerate(member.steady or member.weights)
    }
