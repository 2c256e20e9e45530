"""The topics and tokens of a state while an edit changes them, whatever the model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from topiary.engine.contract import Array, Batch, FloatArray
from topiary.engine.hierarchy.topics import weigh_topics
from topiary.engine.pool import Pool
from topiary.engine.steering import tokens
from topiary.engine.steering.edit import EditRefused, Steering, read_steering
from topiary.engine.steering.guide import ABSENT, Guide, choose_entries
from topiary.engine.steering.tokens import EditAddress
from topiary.engine.topic_moves.steps import TopicMean

FAINT = 1e-4  # what is above a new topic at first, as a share of what is above a mean topic
IDLE = 0.01  # a topic with less than this share of the tokens of a mean topic is free for another use
NOWHERE = EditAddress(0, 0, 0)


@dataclass
class Draft:
    """A state of which an edit changes copies.

    Attributes
    ----------
    docs : Batch
        All training documents.
    topics : (tokens,) uint16
        Topics of their tokens; empty where the model keeps none.
    phi : list of (K_{l-1}, K_l) float64
        Columns on the simplex; layer 1 alone where those above are of another kind.
    means : list of TopicMean
        Running means of these layers; empty if the model keeps none.
    tops : list of (K_L,) float64
        What is above the last of these layers: r, and its mean if there is one.
    names : list of (K_l,) int64
        Original columns.
    theta : list of (documents, K_l) float64
        Activations of every layer; without rows where the model keeps none.
    etas : tuple of float
        Dirichlet parameter of every layer.
    steering : Steering
    width : int
        Topics of layer 1 at the start of the run, whose original columns are below it.
    pool : Pool
    widens : bool
        Whether layer 1 may get another topic.
    at : EditAddress
        The random numbers of the next part of the edit.
    """

    docs: Batch
    topics: Array
    phi: list[FloatArray]
    means: list[TopicMean]
    tops: list[FloatArray]
    names: list[Array]
    theta: list[FloatArray]
    etas: tuple[float, ...]
    steering: Steering
    width: int
    pool: Pool
    widens: bool = True
    at: EditAddress = NOWHERE

    @property
    def holds_tokens(self) -> bool:
        """True if the topics of tokens are known."""
        return len(self.topics) > 0

    @property
    def table(self) -> tokens.TokenTable:
        """The tokens of all documents; their topics are those of the draft."""
        return tokens.list_tokens(self.docs, self.topics)

    def count_words(self) -> FloatArray:
        """Return the number of training tokens of every word, (V,)."""
        weights = self.docs.counts.astype(np.float64)
        return np.bincount(self.docs.words, weights=weights, minlength=len(self.phi[0])).astype(np.float64)

    def find_column(self, layer: int, name: int, *, alive: bool = True) -> int:
        """Return where a topic is now, given its original column; with ``alive`` it must not have been removed."""
        if not 1 <= layer <= len(self.phi):
            raise EditRefused(f"layer {layer} of this run cannot be edited; choose a layer from 1 to {len(self.phi)}")
        found = np.flatnonzero(self.names[layer - 1] == name)
        if not len(found) or (alive and self.is_removed(layer)[found[0]]):
            raise EditRefused(f"there is no topic L{layer}:{name + 1} any more; choose one that the run still has")
        return int(found[0])

    def set_column(self, layer: int, k: int, weights: FloatArray) -> None:
        """Replace a topic, unless it is pinned, by these weights scaled to sum 1, and let its mean begin again."""
        if self._is_pinned(layer, k):
            return
        column = np.maximum(weights / weights.sum(), ABSENT)
        self.phi[layer - 1][:, k] = column
        if self.means:
            mean = self.means[layer - 1]
            mean.phi[:, k], mean.samples[k] = column, 0
            if len(mean.variance):
                mean.variance[:, k] = 0.0

    def _is_pinned(self, layer: int, k: int) -> bool:
        """Return whether no edit of other topics may change this one."""
        return bool((self.steering.pinned == (layer, self.names[layer - 1][k])).all(axis=1).any())

    def refresh_columns(self, columns: Array) -> None:
        """Replace topics of layer 1 by their expectation given the tokens they have now."""
        counts = tokens.count_tokens(self.table, *self.phi[0].shape)
        rows, topics, extra = choose_entries(self.steering.prior, self.names[0])
        prior = np.zeros(len(counts))
        for k in columns:
            mine = topics == k
            prior[:] = self.etas[0]
            prior[rows[mine]] += extra[mine]
            self.set_column(1, int(k), counts[:, k] + prior)

    def flatten_column(self, layer: int, k: int) -> None:
        """Make a topic that of all documents, about nothing."""
        if layer == 1:
            self.set_column(1, k, self.count_words() + 1.0)
        else:
            below = self.weigh_layer(layer - 1)
            self.set_column(layer, k, below + below.mean())

    def change_rows(self, layer: int, change: Callable[[FloatArray], None]) -> None:
        """Change what the layer above says about the topics of a layer: the rows of its topics, or r above the last.

        ``change`` gets a table with a row for every topic, and changes it in place.
        """
        if layer == len(self.phi):
            for top in self.tops:
                change(top[:, None])
            return
        upper = self.phi[layer]
        _change_rows(upper, change)
        if self.means:
            mean = self.means[layer].phi.astype(np.float64)
            _change_rows(mean, change)
            self.means[layer].phi[:] = mean

    def hold(self) -> None:
        """Give topics and means what their steering says."""
        guide = Guide(self.steering, self.names)
        guide.hold_topics(self.phi, self.phi)
        means = [mean.phi for mean in self.means]
        guide.hold_topics(means, means)
        self.tops = [guide.cut_top(top) for top in self.tops]

    def count_topics(self) -> FloatArray:
        """Return the number of tokens of every topic of layer 1, (K_1,)."""
        return np.bincount(self.topics, minlength=self.phi[0].shape[1]).astype(np.float64)

    def weigh_layer(self, layer: int) -> FloatArray:
        """Return how much of the documents each topic of a layer explains, (K_l,)."""
        if layer == 1 and self.holds_tokens:
            return self.count_topics()
        theta = self.theta[layer - 1]
        return np.asarray(theta.sum(axis=0) if len(theta) else weigh_topics(self.phi[layer - 1 :], self.tops[0])[0])

    def scatter_topic(self, chosen: Array, k: int) -> None:
        """Give the chosen tokens to other topics than ``k``, but to none that was removed."""
        closed = self.is_removed(1)
        closed[k] = True
        tokens.scatter_tokens(self.take_address(), self.table, chosen, closed, self.phi[0])

    def take_address(self) -> EditAddress:
        """Return where the random numbers of the next part of the edit are."""
        self.at = self.at._replace(item=self.at.item + 1)
        return self.at

    def is_removed(self, layer: int) -> Array:
        """Return which topics of a layer were removed, (K_l,)."""
        removed = self.steering.removed
        return np.isin(self.names[layer - 1], removed[removed[:, 0] == layer, 1])

    def forget_topic(self, layer: int, k: int) -> None:
        """Drop all steering of a topic, which is about to be another one."""
        name, old = self.names[layer - 1][k], self.steering
        prior = old.prior[(old.prior[:, 1] != name) | (layer > 1)]
        out = old.out[(old.out[:, 0] != layer) | (old.out[:, 2] != name)]
        out = out[(out[:, 0] != layer + 1) | (out[:, 1] != name)]
        pinned, removed = (table[(table != (layer, name)).any(axis=1)] for table in (old.pinned, old.removed))
        self.steering = old._replace(prior=prior, out=out, pinned=pinned, removed=removed)

    def add_topic(self) -> int:
        """Add a flat topic without tokens to layer 1, and return its column."""
        if not self.widens:
            raise EditRefused(
                "every topic of layer 1 has tokens, and this model cannot add one; remove or merge one first"
            )
        k = self.phi[0].shape[1]
        self.names[0] = np.append(self.names[0], max(self.width, int(self.names[0].max()) + 1))
        self.phi[0], self.theta[0] = np.pad(self.phi[0], _COLUMN), np.pad(self.theta[0], _COLUMN)
        self.means[:1] = [_pad_mean(mean, _COLUMN) for mean in self.means[:1]]
        self.flatten_column(1, k)
        if len(self.phi) == 1:
            self.tops = [np.append(top, 0.0) for top in self.tops]
        self.phi[1:2] = [np.pad(phi, _ROW) for phi in self.phi[1:2]]
        self.means[1:2] = [_pad_mean(mean, _ROW) for mean in self.means[1:2]]

        def start_row(table: FloatArray) -> None:
            table[k] = FAINT * table.mean(axis=0)

        self.change_rows(1, start_row)
        return k


_ROW, _COLUMN = ((0, 1), (0, 0)), ((0, 0), (0, 1))  # one more, as numpy.pad reads it


def _pad_mean(mean: TopicMean, more: tuple[tuple[int, int], tuple[int, int]]) -> TopicMean:
    """Return a running mean with one more row or column of zeros."""
    variance = np.pad(mean.variance, more) if len(mean.variance) else mean.variance
    return TopicMean(np.pad(mean.phi, more), np.pad(mean.samples, more[1]), variance)


def copy_layers(state: Any, docs: Batch, etas: tuple[float, ...], width: int, pool: Pool) -> Draft:
    """Return a draft of the state of a model whose layers are all on the simplex."""
    widths = [len(names) for names in state.names]
    mean = getattr(state, "mean", ())
    variance = getattr(state, "variance", ()) or (np.zeros((0, 0)),) * len(mean)
    means = zip(mean, getattr(state, "averaged", ()), variance, strict=True)
    kept = {"theta1": widths[0], "theta": sum(widths[1:])}
    first, upper = (_copy_rows(getattr(state, name, np.zeros(0)), width) for name, width in kept.items())
    return Draft(
        docs,
        np.array(getattr(state, "topics", ()), np.uint16),
        phi=[phi.copy() for phi in state.phi],
        means=[TopicMean(*(table.copy() for table in each)) for each in means],
        tops=[getattr(state, name).copy() for name in _TOPS if hasattr(state, name)],
        names=list(state.names),
        theta=[first, *np.split(upper, np.cumsum(widths[1:-1]), axis=1)] if len(widths) > 1 else [first],
        etas=etas,
        steering=read_steering(state.steering),
        width=width,
        pool=pool,
    )


def copy_topics(state: Any, docs: Batch, tops: list[FloatArray], eta: float, width: int, pool: Pool) -> Draft:
    """Return a draft of the state of a model that has its topics of layer 1 in ``phi``, and ``tops`` above them."""
    n_topics = state.phi.shape[1]
    return Draft(
        docs,
        state.topics.copy(),
        phi=[state.phi.copy()],
        means=[TopicMean(state.mean.copy(), state.averaged.copy(), state.variance.copy())],
        tops=[top.copy() for top in tops],
        names=[np.arange(n_topics)],
        theta=[np.zeros((0, n_topics))],
        etas=(eta,),
        steering=read_steering(state.steering),
        width=width,
        pool=pool,
    )


def _copy_rows(table: Array, width: int) -> FloatArray:
    """Return a copy of a table of activations, or one of this width without rows."""
    return table.copy() if table.size else np.zeros((0, width))


def replace_layers(state: Any, draft: Draft) -> Any:
    """Return the state that :func:`copy_layers` has copied, with what an edit has changed."""
    new: dict[str, Any] = dict(zip(_TOPS, draft.tops, strict=False))
    if draft.means:
        new |= dict(zip(_MEANS, map(tuple, zip(*draft.means, strict=True)), strict=True))
    local = {"topics": draft.topics, "theta1": draft.theta[0], "theta": np.hstack(draft.theta[1:] or draft.theta)}
    new |= {name: table for name, table in local.items() if np.size(getattr(state, name, ()))}
    phi = tuple(np.ascontiguousarray(layer) for layer in draft.phi)
    return state._replace(phi=phi, names=tuple(draft.names), steering=tuple(draft.steering), **new)


def pad_topics(values: FloatArray, n_topics: int) -> FloatArray:
    """Return a number for every topic, of which new topics get the mean."""
    return np.pad(values, (0, n_topics - len(values)), constant_values=float(values.mean()))


_TOPS, _MEANS = ("r", "mean_r"), ("mean", "averaged", "variance")


def _change_rows(table: FloatArray, change: Callable[[FloatArray], None]) -> None:
    """Change rows of a table in place, and scale its columns to sum 1 again."""
    change(table)
    np.maximum(table, ABSENT, out=table)
    table /= table.sum(axis=0)
