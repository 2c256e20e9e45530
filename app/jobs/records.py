"""Build the records of a run: the points of a step, and the arrays and facts of a snapshot."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from topiary.engine.contract import TRAIN, Array, AveragingKernel, Counts, Event, Info, IntArray, Kernel, Topics
from topiary.engine.corpus import Corpus
from topiary.engine.hierarchy import certainty, effects, titles, topics
from topiary.engine.hierarchy import topics as hierarchy
from topiary.engine.models import RegisteredModel
from topiary.engine.quality import background, measures
from topiary.engine.quality.background import measure_spread
from topiary.store.errors import DamagedRow
from topiary.store.events import StructureChange
from topiary.store.points import Point

KEPT = "model."  # prefix of the arrays in a snapshot that only the model itself reads
MOST = float(np.finfo(np.float32).max)  # largest finite value in snapshots, which have single precision
CERTAIN_FROM = 100  # steps; the variance over fewer samples hardly tells how far a chain wanders
SURE_WORDS = 30  # words of a topic whose intervals are stored
ACTIVE = 0.01  # least share of an active topic, relative to the mean of its layer


def list_step_points(
    info: Info, topics: Topics, *, minibatch: int, documents: int, seconds: float, n_layers: int = 0
) -> list[Point]:
    """Return points after a step: step sizes (mean, 5 % and 95 % quantiles), active topics, ELBO and concentrations.

    The sum of r (``r_sum``) and, for every layer, the entropy of the shares of its topics in nats (``share_entropy``)
    serve to compare several chains, whose topics have other numbers (`app.analysis.seeds`).

    Layers are counted from 1; step sizes of ``r`` are stored as layer L + 1, where L is the number of layers the run
    will have in the end (``n_layers``), so that each curve belongs to one layer even when layers are added.
    """
    n_present = len(topics.phi)

    def point(name: str, layer: int, value: Any) -> Point:
        return Point(minibatch, documents, seconds, name, layer, float(value))

    points: list[Point] = []
    for index, sizes in enumerate(info.step_sizes, start=1):
        layer = index if index <= n_present else index - n_present + max(n_present, n_layers)
        low, high = np.quantile(sizes, (0.05, 0.95))
        points.append(point("step_size_mean", layer, np.mean(sizes)))
        points.append(point("step_size_low", layer, low))
        points.append(point("step_size_high", layer, high))
    for layer, weights in enumerate(effects.compute_popularity(topics), start=1):
        points.append(point("active_topics", layer, count_active(weights)))
        points.append(point("share_entropy", layer, scipy.special.entr(hierarchy.compute_shares(weights)).sum()))
    points.append(point("r_sum", 0, topics.r.sum()))
    if not math.isnan(info.elbo):
        points.append(point("elbo", 0, info.elbo))
    return points + [point(learnt.name, learnt.layer, learnt.value) for learnt in info.concentrations]


def check_topics(topics: Topics, minibatch: int) -> None:
    """Refuse topics that are not finite in single precision, before they are written.

    Raises
    ------
    ArithmeticError
        When a topic is not finite; the message names the layer and the mini-batch.
    """
    named = {f"the topics of layer {layer}": phi for layer, phi in enumerate(topics.phi, start=1)}
    for name, values in (named | {"the popularities of the top layer (r)": topics.r}).items():
        least, most = values.min(initial=0.0), values.max(initial=0.0)  # not a number if one of them is not
        if not -MOST <= least <= most <= MOST:
            raise ArithmeticError(
                f"{name} are no longer finite numbers after mini-batch {minibatch}; try a smaller step size"
            )


def count_active(weights: Array) -> int:
    """Return the number of topics of a layer whose weight is at least a hundredth of the mean."""
    return int(np.count_nonzero(weights >= ACTIVE * weights.mean()))


def load_model(run: Any) -> tuple[RegisteredModel, Any]:
    """Return the model of a run (a row of the store), and its settings.

    Raises
    ------
    DamagedRow
        When the row names an unknown model.
    engine.settings.SettingError
        When the model no longer accepts the settings.
    """
    from topiary.engine import models, settings

    try:
        module = models.load(run.model)
    except LookupError as error:
        raise DamagedRow(f"run {run.number} cannot be used: {error.args[0]}") from error
    return module, settings.from_json(module.Config, run.settings)


def pack_snapshot(kernel: Kernel, state: Any, info: Info, examples: dict[str, Array]) -> dict[str, Array]:
    """Return the arrays of a snapshot.

    They are ``phi.l`` and ``r``, their means ``mean.l`` and ``mean_r`` with their certainty, the step sizes ``step.l``,
    the examples of every topic, and the model's own arrays under ``model.``.
    """
    topics = kernel.topics(state)
    arrays = hierarchy.pack_topics(topics)
    if isinstance(kernel, AveragingKernel):
        mean = kernel.topics(kernel.average(state))
        arrays |= {f"mean.{layer}": phi for layer, phi in enumerate(mean.phi)} | {"mean_r": mean.r}
    arrays |= measure_certainty(kernel, state)
    arrays |= {f"step.{layer}": sizes for layer, sizes in enumerate(info.step_sizes[: len(topics.phi)])}
    return arrays | examples | {_name_array(name): array for name, array in kernel.keep(state).items()}


def measure_certainty(kernel: Kernel, state: Any) -> dict[str, Array]:
    """Return the certainty of the mean topics, after ``CERTAIN_FROM`` steps of a model that keeps variances.

    ``steady.l`` (K_l,), the cosine of two draws of a topic; ``sure_words.l`` (K_l, n) with ``words_low.l`` and
    ``words_high.l``, the 90 % intervals of the words that are shown; ``edge_variance.l`` (K_{l+1}, K_{l+2}) of the
    edges above layer l + 1.
    """
    if not isinstance(kernel, AveragingKernel) or int(state.t) < CERTAIN_FROM:
        return {}
    mean, variances = kernel.topics(kernel.average(state)), kernel.variance(state)
    phi = mean.phi[: len(variances)]
    pairs = zip(topics.project_topics(phi), effects.compute_popularity(mean), strict=False)
    words = [
        topics.find_relevant_words(table, topics.compute_shares(weights), SURE_WORDS)[0] for table, weights in pairs
    ]
    arrays: dict[str, Array] = {}
    for layer, bounds in enumerate(certainty.bound_words(phi, variances, words)):
        arrays[f"sure_words.{layer}"] = words[layer].astype(np.int32)
        arrays[f"words_low.{layer}"], arrays[f"words_high.{layer}"] = (each.astype(np.float32) for each in bounds)
        steady = certainty.measure_agreement(phi[layer], variances[layer])
        arrays[f"steady.{layer}"] = steady.astype(np.float32)
    return arrays | {f"edge_variance.{layer}": each for layer, each in enumerate(variances[1:])}


def describe_event(event: Event) -> str:
    """Return a sentence about a change of the structure, for the list of events."""
    change = describe_change(convert_event(event))
    pruned = " ".join(f"L{event.layer}:{name + 1}" for name in event.topics)
    return f"{change}, without {pruned}" if pruned else change


def convert_event(event: Event) -> StructureChange:
    """Return a change of the structure as the store keeps it, with topics numbered from 1."""
    return StructureChange(event.layer, tuple(name + 1 for name in event.topics), event.before, event.after)


def _name_array(name: str) -> str:
    """Return the name in a snapshot of an array that a model keeps; ``names.l`` gets no prefix."""
    return name if name.startswith("names.") else f"{KEPT}{name}"


def restore_state(kernel: Kernel, seed: int, arrays: dict[str, Array], *, shown: bool = False) -> Any:
    """Return the state that continues from the arrays of a snapshot of this model or a compatible one.

    With ``shown`` its topics are the means, which pages show, if the snapshot has them.
    """
    renamed = {name.removeprefix(KEPT): array for name, array in arrays.items()}
    if shown:
        renamed |= {f"phi.{layer}": mean for layer, mean in enumerate(hierarchy.collect_arrays(arrays, "mean"))}
        renamed["r"] = arrays.get("mean_r", arrays["r"])
    return kernel.restore(seed, renamed)


def describe_change(change: StructureChange) -> str:
    """Describe how many topics a layer had and has, without naming the pruned ones."""
    if not change.before:
        return f"layer {change.layer} begins with {change.after} topics"
    if change.before == change.after:
        return f"layer {change.layer} keeps all its {change.after} topics"
    return f"layer {change.layer} from {change.before} to {change.after} topics"


def read_training_counts(corpus: Corpus, most: int = measures.SAMPLED) -> Counts:
    """Return the counts of the training documents; if there are more than ``most``, of every second, third ..."""
    documents = corpus.documents(TRAIN)
    return corpus.batch(documents[:: -(-len(documents) // most) or 1]).cells


def has_words(corpus: Corpus) -> bool:
    """Return whether the documents are counts of words, not pixels or real numbers."""
    return corpus.image_shape is None and corpus.counts.values.dtype.kind != "f"


def find_common_words(corpus: Corpus) -> IntArray:
    """Return the numbers of the words that are common everywhere in a corpus; none if it has no words."""
    if not has_words(corpus):
        return np.zeros(0, dtype=np.int32)
    return background.list_common_words(read_training_counts(corpus), corpus.n_words)


def collect_topic_facts(
    corpus: Corpus,
    common: IntArray,
    arrays: Mapping[str, Array],
    places: Sequence[Array],
    earlier: Sequence[Array] = (),
) -> dict[str, Array]:
    """Return facts about the topics of a snapshot.

    Parameters
    ----------
    common : (m,) int array
        Numbers of the words that are common everywhere.
    arrays : mapping
        Arrays of the snapshot: ``phi.l`` and ``r``, and ``mean.l``, which is preferred if present.
    places : sequence of (n, K_l) arrays
        Share of every topic in some training documents; -1 if unknown.
    earlier : sequence of (n, 3) int arrays
        The titles in the snapshot before, by :func:`index_titles`; empty if there is none.

    Returns
    -------
    dict of str to array
        ``everywhere``; of words, ``npmi.l`` (K_l,), the document NPMI of the ten words shown first, and ``title.l``
        (K_l, 3), the words of the titles; ``spread.l`` (K_l,), see `engine.quality.background.measure_spread`, as soon
        as enough documents are placed.
    """
    spreads = [measure_spread(shares) for shares in places]
    facts: dict[str, Array] = {
        f"spread.{layer}": spread.astype(np.float32) for layer, spread in enumerate(spreads) if spread is not None
    }
    if not has_words(corpus):
        return facts
    found = topics.unpack_topics(arrays, shown=True)
    presentation = _present_as_stored(found)
    coherences = measure_npmi(corpus, presentation)
    facts |= {"everywhere": common} | {f"npmi.{layer}": values for layer, values in enumerate(coherences)}
    known = not found.links and all(spread is not None for spread in spreads)
    chosen = titles.choose_titles(
        presentation,
        background=background.mark_background([facts[f"spread.{layer}"] for layer in range(len(spreads))], coherences)
        if known
        else (),
        everywhere=common.tolist(),
        vocabulary=corpus.vocabulary,
        earlier=_find_earlier(earlier, arrays),
    )
    return facts | {f"title.{layer}": words.astype(np.int32) for layer, words in enumerate(chosen)}


def index_titles(arrays: Mapping[str, Array]) -> tuple[Array, ...]:
    """Return the titles of a snapshot by layer as tables (n, 3), whose rows are the numbers of the topics.

    A number is the column that a topic had before any pruning; rows of numbers without a topic are -1.
    """
    tables = []
    for layer, words in enumerate(topics.collect_arrays(arrays, "title")):
        names = arrays.get(f"names.{layer}", np.arange(len(words)))
        table = np.full((int(names.max()) + 1, words.shape[1]), -1, dtype=np.int32)
        table[names] = words
        tables.append(table)
    return tuple(tables)


def _find_earlier(tables: Sequence[Array], arrays: Mapping[str, Array]) -> list[Array]:
    """Return the rows of the tables of :func:`index_titles` for the topics of a snapshot, -1 for new topics."""
    found = []
    for layer, table in enumerate(tables):
        names = arrays.get(f"names.{layer}", np.arange(arrays[f"phi.{layer}"].shape[1]))
        rows = np.full((len(names), table.shape[1]), -1, dtype=np.int32)
        known = names < len(table)
        rows[known] = table[names[known]]
        found.append(rows)
    return found


def _present_as_stored(found: Topics) -> effects.Presentation:
    """Return the topics as users see them, in the precision in which they are stored."""
    return effects.present_hierarchy(
        found._replace(phi=tuple(np.asarray(table, dtype=np.float32) for table in found.phi))
    )


def measure_npmi(corpus: Corpus, presentation: effects.Presentation) -> list[Array]:
    """Return the document NPMI of the first words of every topic over the training documents, (K_l,) a layer."""
    first_words = [
        topics.find_relevant_words(table, topics.compute_shares(weights), measures.WORDS)[0]
        for table, weights in zip(presentation.words, presentation.popularity, strict=True)
    ]
    if first_words[0].shape[1] < 2:
        return [np.zeros(len(words), dtype=np.float32) for words in first_words]
    pair_counts = measures.count_pairs_within(np.concatenate(first_words), read_training_counts(corpus), corpus.n_words)
    return [measures.compute_npmi(words, pair_counts).astype(np.float32) for words in first_words]
