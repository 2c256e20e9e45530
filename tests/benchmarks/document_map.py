"""The map of all documents against principal components, openTSNE and UMAP, where these are installed.

Purity is the share of a document's ten nearest on the map that have its label; the first line has that of the ten
nearest by topics.  Kept is the share of its 15 nearest by topics that are among its 15 nearest on the map.  With
--documents, the shares of a run are repeated with noise up to that number, and only the time is measured.
"""

import importlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness
from sklearn.neighbors import NearestNeighbors

from tests.benchmarks.report import load, parser, say
from topiary.app.analysis import inference
from topiary.app.analysis.read_hierarchy import find_snapshot, read_hierarchy
from topiary.app.views.tree.map_svg import trace_parents
from topiary.engine.contract import Array
from topiary.engine.document_map import features, layout
from topiary.engine.pool import Pool
from topiary.store import corpora, runs, snapshots
from topiary.store.database import open_database

NOISE = 0.4  # standard deviation of the logarithms of repeated shares
LEAST = 0.01  # smaller shares are left out, as in the store
MOST_MEASURED = 20_000  # documents; trustworthiness compares all pairs


class Shares(NamedTuple):
    """Shares of layer 1 (N, K), labels (N,), and the parents of topics in layers 2 and 3."""

    layer: Array
    labels: Array
    parents: list[Array]


def main(argv: Sequence[str] | None = None) -> int:
    """Print seconds of processors, purity, trustworthiness and neighbours kept of every method."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("store", help="URL or path of a database with a finished run on a corpus with labels")
    options.add_argument("--run", type=int, default=1)
    options.add_argument("--documents", type=int, help="repeat the shares up to this number of documents")
    options.add_argument("--threads", type=int, default=2)
    arguments = options.parse_args(argv)
    shares = read_shares(arguments.store, arguments.run)
    if arguments.documents:
        shares = repeat_shares(shares, arguments.documents)
    say(f"{len(shares.layer):,} documents, {shares.layer.shape[1]} topics; {load()}")
    place_documents(Shares(shares.layer[:300], shares.labels[:300], shares.parents), 1)  # compiles
    began = time.process_time()
    draft, finished, parts = place_documents(shares, arguments.threads)
    seconds = {"draft": parts[0], "own": time.process_time() - began}
    places = {"draft": draft, "own": finished}
    if not arguments.documents:
        say(f"  {'by topics':<10}{'':>9}   purity {measure_purity(np.sqrt(shares.layer), shares.labels):.3f}")
        for name, method in list_rivals().items():
            began = time.process_time()
            places[name] = method(np.sqrt(shares.layer))
            seconds[name] = time.process_time() - began
    for name, found in places.items():
        measured = "" if arguments.documents else describe(shares, found)
        say(f"  {name:<10}{seconds[name]:7.1f} s{measured}")
    return 0


def read_shares(store: str, number: int) -> Shares:
    """Place all documents of a run's corpus in its newest snapshot."""
    url = store if "://" in store else f"sqlite:///{Path(store).resolve()}"
    db = open_database(url)
    run = runs.get_run(db, number)
    placed = inference.open_inference(db, run, find_snapshot(db, number))
    numbers = list(range(placed.corpus.documents))
    layer = placed.infer_shares(corpora.read_counts(db, placed.corpus.number, numbers), numbers)
    hierarchy = read_hierarchy(db, run, snapshots.find_latest(db, number))
    labels = corpora.read_labels(db, placed.corpus)
    return Shares(layer, labels, list(trace_parents(hierarchy, range(layer.shape[1]))))


def repeat_shares(shares: Shares, n_documents: int) -> Shares:
    """Return as many documents as wanted: those that there are, then copies with noise."""
    rng = np.random.default_rng(7)
    n = len(shares.layer)
    rows = np.arange(n_documents) % n
    layer = shares.layer[rows].astype(np.float32)
    for first in range(n, n_documents, 10_000):
        layer[first : first + 10_000] *= np.exp(rng.normal(0.0, NOISE, layer[first : first + 10_000].shape))
    return Shares(layer / layer.sum(axis=1, keepdims=True), shares.labels[rows], shares.parents)


def place_documents(shares: Shares, n_threads: int) -> tuple[Array, Array, list[float]]:
    """Return positions of the draft and of the finished map, and seconds of processors until the draft."""
    kept = np.where(shares.layer >= LEAST, shares.layer, 0.0)
    rows, topics = np.nonzero(kept)
    starts = np.searchsorted(rows, np.arange(len(kept) + 1))
    values = kept[rows, topics]
    pool = Pool(n_threads)
    began = time.process_time()
    made = features.make_features(starts, topics, values, kept.shape[1])
    draft = layout.draft_map(made, shares.parents, 1, pool)
    seconds = time.process_time() - began
    return draft.positions, layout.finish_map(made, draft, 1, pool).positions, [seconds]


def list_rivals() -> dict[str, Callable[[Array], Array]]:
    """Return the other methods that are installed, by name."""
    found: dict[str, Callable[[Array], Array]] = {"PCA": lambda roots: PCA(2, random_state=0).fit_transform(roots)}
    for name, module in (("openTSNE", "openTSNE"), ("UMAP", "umap")):
        try:
            package: Any = importlib.import_module(module)
        except ImportError:
            say(f"  {module} is not installed: nothing to compare with")
            continue
        found[name] = (
            (lambda roots, p=package: np.asarray(p.TSNE(random_state=0).fit(roots)))
            if name == "openTSNE"
            else (lambda roots, p=package: p.UMAP(random_state=0).fit_transform(roots))
        )
    return found


def describe(shares: Shares, places: Array) -> str:
    """Return purity, trustworthiness and neighbours kept in words; of a sample if there are many documents."""
    sample = np.arange(len(places)) if len(places) <= MOST_MEASURED else np.arange(MOST_MEASURED)
    roots = np.sqrt(shares.layer[sample])
    trusted = trustworthiness(roots, places[sample], n_neighbors=10)
    purity = measure_purity(places, shares.labels)
    return f"   purity {purity:.3f}, trustworthiness {trusted:.3f}, kept {measure_kept(roots, places[sample]):.2f}"


def measure_purity(places: Array, labels: Array) -> float:
    """Return the share of the ten nearest documents that have a document's label."""
    return float((labels[find_nearest(places, 10)] == labels[:, None]).mean())


def measure_kept(roots: Array, places: Array) -> float:
    """Return the share of the 15 nearest by topics that are among the 15 nearest on the map."""
    pairs = zip(find_nearest(roots, 15), find_nearest(places, 15), strict=True)
    return float(np.mean([len(np.intersect1d(one, other)) / 15 for one, other in pairs]))


def find_nearest(points: Array, n: int) -> Array:
    """Return the numbers of the nearest others of every point, (N, n)."""
    return NearestNeighbors(n_neighbors=n).fit(points).kneighbors(return_distance=False)


if __name__ == "__main__":
    raise SystemExit(main())
