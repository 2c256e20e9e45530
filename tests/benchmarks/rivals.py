"""The other side of the comparisons.

``Plain`` is the upward-downward sampler of models.md 1.1 as a good numba programmer writes it from the paper:
NumPy's generators inside compiled loops, every theta drawn, one K-long product for every cell, the
Chinese restaurant customer by customer, dense float64 arrays, sweep after sweep over the mini-batch; then
the TLASGR move in NumPy.  One thread.
"""

# ruff: noqa: NPY002 - the generator that plain numba code uses

from typing import Any, NamedTuple

import numba
import numpy as np


class PlainState(NamedTuple):
    """Topics and running averages: ``phi[l]`` (K_l, K_{l+1}), ``r`` (K_L,), ``scale[l]`` (K_{l+1},), ``top_scale``."""

    phi: tuple[Any, ...]
    r: Any
    scale: tuple[Any, ...]
    top_scale: float
    t: int


class PlainCounts(NamedTuple):
    """Sums over collected sweeps: tables of every layer (K_{l-1}, K_l), ``top`` (K_L,), ``q`` of layer L + 1."""

    tables: tuple[Any, ...]
    top: Any
    q: float


@numba.njit
def plain_sweeps(words, counts, starts, phi, r, burn_in, collect, settle, tables, top):
    """Sweep a mini-batch ``burn_in + collect`` times, adding counts to ``tables`` and ``top``; gives the sum of q."""
    n_documents, n_layers = len(starts) - 1, len(phi)
    theta = [np.full((n_documents, phi[layer].shape[1]), 1.0 / phi[layer].shape[1]) for layer in range(n_layers)]
    m = [np.zeros((n_documents, phi[layer].shape[1])) for layer in range(n_layers)]
    c = np.ones((n_documents, n_layers))
    q_sum = 0.0
    for sweep in range(1, burn_in + collect + 1):
        keep = sweep > burn_in
        for j in range(n_documents):
            split_words(words, counts, starts[j], starts[j + 1], phi[0], theta[0][j], m[0][j], keep, tables[0])
            for layer in range(1, n_layers):
                send_up(phi[layer], theta[layer][j], m[layer - 1][j], m[layer][j], keep, tables[layer])
            for k in range(len(r)):
                x = tables_of(m[n_layers - 1][j, k], r[k])
                if keep:
                    top[k] += x
            if sweep >= settle:
                draw_rates(theta, r, m[0][j].sum(), j, c)
            q = draw_theta(phi, r, theta, m, j, c)
            if keep:
                q_sum += q
    return q_sum


@numba.njit
def split_words(words, counts, first, last, phi, theta, m, keep, table):
    """Split every count over topics in proportion to phi_vk theta_k."""
    m[:] = 0.0
    sums = np.empty(len(theta))
    for cell in range(first, last):
        v, total = words[cell], 0.0
        for k in range(len(theta)):
            total += phi[v, k] * theta[k]
            sums[k] = total
        for _ in range(counts[cell]):
            k = min(np.searchsorted(sums, np.random.random() * total, side="right"), len(theta) - 1)
            m[k] += 1.0
            if keep:
                table[v, k] += 1.0


@numba.njit
def tables_of(customers, rate):
    """CRT(customers, rate), one customer after another."""
    opened = 0
    for i in range(int(customers)):
        if i == 0 or np.random.random() * (rate + i) < rate:
            opened += 1
    return opened


@numba.njit
def send_up(phi, theta, m, above, keep, table):
    """Tables x_k ~ CRT(m_k, (phi theta)_k) of the layer below, split over the topics of this one."""
    above[:] = 0.0
    sums = np.empty(len(theta))
    for v in range(len(m)):
        if m[v] == 0.0:
            continue
        total = 0.0
        for k in range(len(theta)):
            total += phi[v, k] * theta[k]
            sums[k] = total
        for _ in range(tables_of(m[v], total)):
            k = min(np.searchsorted(sums, np.random.random() * total, side="right"), len(theta) - 1)
            above[k] += 1.0
            if keep:
                table[v, k] += 1.0


@numba.njit
def draw_rates(theta, r, n_tokens, j, c):
    """p^(2), then c^(2) ... c^(L+1), of document ``j`` (a_0 = b_0 = 0.01, e_0 = f_0 = 1)."""
    n_layers = len(theta)
    under = theta[1][j].sum() if n_layers > 1 else r.sum()
    p = min(max(np.random.beta(0.01 + n_tokens, 0.01 + under), 1e-300), 1.0 - 1e-16)
    c[j, 0] = (1.0 - p) / p
    for layer in range(1, n_layers):
        shapes = theta[layer + 1][j].sum() if layer + 1 < n_layers else r.sum()
        c[j, layer] = np.random.gamma(1.0 + shapes, 1.0 / (1.0 + theta[layer][j].sum()))


@numba.njit
def draw_theta(phi, r, theta, m, j, c):
    """Activations of document ``j`` from the top down; gives its q^(L+1)."""
    n_layers = len(theta)
    q = np.ones(n_layers + 1)
    for layer in range(n_layers):
        q[layer + 1] = np.log(1.0 + q[layer] / c[j, layer])
    for layer in range(n_layers - 1, -1, -1):
        shape = phi[layer + 1] @ theta[layer + 1][j] if layer + 1 < n_layers else r
        for k in range(len(shape)):
            drawn = np.random.gamma(shape[k] + m[layer][j, k], 1.0 / (c[j, layer] + q[layer]))
            theta[layer][j, k] = max(drawn, 1e-300)
    return q[n_layers]


@numba.njit
def seed_plain(seed):
    """Seed the generator that compiled code shares."""
    np.random.seed(seed)


class Plain:
    """TLASGR with the plain sampler, for layers of ``widths`` topics over ``n_words`` words."""

    def __init__(
        self, n_words: int, n_documents: int, widths: tuple[int, ...], *, burn_in: int = 20, collect: int = 10
    ) -> None:
        self._n_documents = n_documents
        self._sweeps = (burn_in * len(widths), collect * len(widths))
        self._shapes = tuple(zip((n_words, *widths[:-1]), widths, strict=True))

    def init(self, seed: int) -> PlainState:
        """Nearly flat topics."""
        rng = np.random.default_rng(seed)
        seed_plain(seed)
        raw = [0.05 + 0.95 * rng.random(shape) for shape in self._shapes]
        widths = [width for _, width in self._shapes]
        scale = tuple(np.zeros(width) for width in widths)
        return PlainState(tuple(x / x.sum(axis=0) for x in raw), np.full(widths[-1], 1.0 / widths[-1]), scale, 0.0, 0)

    def local(self, state: PlainState, words: Any, counts: Any, starts: Any) -> PlainCounts:
        """Counts of a mini-batch, averaged over the collected sweeps."""
        burn_in, collect = self._sweeps
        tables, top = tuple(np.zeros(shape) for shape in self._shapes), np.zeros(len(state.r))
        settle = min(10, max(burn_in // 2, 1))
        q = plain_sweeps(words, counts, starts, state.phi, state.r, burn_in, collect, settle, tables, top)
        return PlainCounts(tuple(table / collect for table in tables), top / collect, q / collect)

    def step(self, state: PlainState, words: Any, counts: Any, starts: Any) -> PlainState:
        """One mini-batch of TLASGR (DLDA eq. 15, 17 to 19)."""
        t, rho = state.t + 1, self._n_documents / (len(starts) - 1)
        got = self.local(state, words, counts, starts)
        eps = ((20 + t) / 21) ** -0.7
        rate = 1.0 if t == 1 else eps / 2
        scale = tuple(
            (1 - rate) * old + rate * rho * table.sum(axis=0)
            for old, table in zip(state.scale, got.tables, strict=True)
        )
        top_scale = (1 - rate) * state.top_scale + rate * rho * got.q
        phi = tuple(move(p, rho * x, m, eps) for p, x, m in zip(state.phi, got.tables, scale, strict=True))
        size = eps / max(top_scale, 1e-10)
        drift = rho * got.top + 1.0 / len(state.r) - state.r * (1.0 + rho * got.q)
        noise = np.sqrt(2 * size * state.r) * np.random.standard_normal(len(state.r))
        return PlainState(phi, np.abs(state.r + size * drift + noise), scale, top_scale, t)


def move(phi: Any, counts: Any, scale: Any, eps: float, eta: float = 0.05) -> Any:
    """The TLASGR move of one layer."""
    size = eps / np.maximum(scale, 1e-10)
    drift = (counts + eta) - (counts.sum(axis=0) + eta * len(phi)) * phi
    new = phi + size * drift + np.sqrt(2 * size * phi) * np.random.standard_normal(phi.shape)
    new -= (new.sum(axis=0) - 1.0) * phi
    new = np.maximum(new, 2.2e-16)
    moved: Any = np.where(scale > 1e-10, new / new.sum(axis=0), phi)
    return moved
