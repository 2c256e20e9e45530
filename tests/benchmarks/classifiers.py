"""Learn labels with one classifier and judge it: sDATM, and plain ones of scikit-learn."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tests.benchmarks.labelled import Labelled
from tests.benchmarks.peers import build_matrix
from topiary.engine import models, settings
from topiary.engine.contract import Array, Facts
from topiary.engine.corpus import draw_minibatch, take_documents
from topiary.engine.hierarchy.class_scores import ClassScores, score_predictions

_KINDS = {"sdatm-n": "network", "sdatm-l": "linear"}
CHECKS = 10  # judgements along the way, with validation documents only


class Effort(NamedTuple):
    """How sDATM is trained: texts of settings as on the command line, and how long."""

    settings: dict[str, str]
    minibatches: int
    threads: int = 1


class Judged(NamedTuple):
    """One measured row.

    Attributes
    ----------
    classifier : str
        "sdatm-n" (network), "sdatm-l" (linear), "svm" or "logistic" (tf-idf, scikit-learn).
    seed : int
    error : float
        Percent of the judged documents that get a wrong label.
    macro_f1 : float
        F1 of each class, averaged; between 0 and 1.
    published : float or None
        The paper's error.
    training_seconds, processor_seconds : float
        Of training by the clock, and of processors.
    prediction_seconds : float
        For all judged documents, by the clock.
    curve : list of (int, float)
        Mini-batches and the error after them; only on validation documents.
    engine : str
        Digest of the engine's sources.
    """

    classifier: str
    seed: int
    error: float
    macro_f1: float
    published: float | None
    training_seconds: float
    processor_seconds: float
    prediction_seconds: float
    curve: list[tuple[int, float]]
    engine: str


Watch: TypeAlias = Callable[[int, float | None], None]


def configured(classifier: str, texts: dict[str, str]) -> Any:
    """The Config of sDATM that the settings name.

    Raises
    ------
    engine.settings.SettingError
        When a setting is unknown or out of its bounds.
    """
    return settings.parse(models.load("sdatm").Config, {**texts, "classifier": _KINDS[classifier]})


def measure(labelled: Labelled, classifier: str, seed: int, effort: Effort, *, watch: Watch) -> Judged:
    """Train and judge one classifier; ``watch(minibatch, error)`` is called as sDATM trains."""
    from tests.benchmarks.published import ERRORS
    from topiary.engine.jit import compute_engine_digest

    learn = _sdatm if classifier in _KINDS else _plain
    began, used = time.perf_counter(), time.process_time()
    curve: list[tuple[int, float]] = []
    predict = learn(labelled, classifier, seed, effort, curve, watch)
    trained, spent = time.perf_counter(), time.process_time()
    report = predict()
    judged = judge(labelled, report)
    return Judged(
        classifier=classifier,
        seed=seed,
        error=100.0 * judged.error,
        macro_f1=judged.macro_f1,
        published=ERRORS.get(labelled.name, {}).get(classifier),
        training_seconds=trained - began,
        processor_seconds=spent - used,
        prediction_seconds=time.perf_counter() - trained,
        curve=curve,
        engine=compute_engine_digest(),
    )


def judge(labelled: Labelled, report: Array) -> ClassScores:
    """Compare what was told of the judged documents, (n,) classes, with their labels."""
    return score_predictions(np.eye(len(labelled.label_names))[report], labelled.judged_labels)


def _sdatm(
    labelled: Labelled, classifier: str, seed: int, effort: Effort, curve: list[tuple[int, float]], watch: Watch
) -> Callable[[], Array]:
    config = configured(classifier, effort.settings)
    n = labelled.learned.n_documents
    facts = Facts(labelled.n_words, n, len(labelled.label_names), labelled.image_shape)
    kernel = models.load("sdatm").build(config, facts, n_threads=effort.threads)
    state = kernel.init(seed)
    documents = take_documents(labelled.judged, np.arange(labelled.judged.n_documents), labelled.judged_labels)
    silent = documents._replace(labels=np.full_like(documents.labels, -1))  # nothing to peep at

    def report() -> Array:
        chances = kernel.predict(seed, state, silent)
        return np.asarray(chances.argmax(axis=1))

    every = max(1, effort.minibatches // CHECKS)
    for t in range(1, effort.minibatches + 1):
        rows = draw_minibatch(seed, t, np.arange(n), config.batch_size, filed=True)
        batch = take_documents(labelled.learned, rows, labelled.learned_labels)
        state, _ = kernel.step(seed, state, batch)
        if labelled.validation and t % every == 0:
            curve.append((t, 100.0 * judge(labelled, report()).error))
        watch(t, curve[-1][1] if curve else None)
    return report


def _plain(
    labelled: Labelled, classifier: str, seed: int, effort: Effort, curve: list[tuple[int, float]], watch: Watch
) -> Callable[[], Array]:
    """Tf-idf and a linear classifier of scikit-learn, with its defaults."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    del effort, curve, watch  # they belong to training step by step
    last = LinearSVC(random_state=seed) if classifier == "svm" else LogisticRegression(max_iter=1000, C=10.0)
    pipeline = make_pipeline(TfidfTransformer(sublinear_tf=True), last)
    learned, judged = (
        build_matrix(counts, labelled.n_words).astype(np.float64) for counts in (labelled.learned, labelled.judged)
    )
    pipeline.fit(learned, labelled.learned_labels)
    return lambda: np.asarray(pipeline.predict(judged))
