"""The models as scikit-learn estimators: they transform documents, and ``SDATM`` also classifies them.

    from topiary import DLDA
    model = DLDA(layers=(64, 32), n_iter=500, random_state=0).fit(counts)
    model.transform(counts)      # activations of layer 1, then 2, as shares of each layer
    model.topics_[1]             # topics of layer 2 over the words

They use only the engine: no store and no worker, and they write no files.  Inputs are checked: texts in place of counts
are refused with a sentence, blank documents give a warning.
"""

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, pairwise
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from topiary.app.machine import count_processors
from topiary.engine import first_topics, models
from topiary.engine.contract import TRAIN, Array, Batch, Counts, Facts, FloatArray, Kernel, PredictingKernel
from topiary.engine.corpus import Corpus, draw_minibatch, number_document, take_documents
from topiary.engine.hierarchy import effects, evaluate, paths, topics
from topiary.engine.quality import measures
from topiary.engine.settings import SettingError, describe
from topiary.engine.shared_settings import count_growth_steps
from topiary.engine.steering.edit import SEED, Edit

_MOST_SEARCHED = 1000  # values of a column or a list that are searched for texts
_LONGEST_QUOTE = 40  # characters of a value that an error quotes
_MOST_ROWS = 5  # rows that a warning names


class TopicEstimator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A model of the engine as a scikit-learn estimator.

    In models that draw samples (DLDA, LDA by Gibbs sampling, DPFA) topics are the means over the last samples.
    Documents are placed and scored with these, as on the pages and in ``Run.infer``.

    Attributes
    ----------
    topics_ : list of (K_l, n_features) float64 arrays
        Topics of every layer over the words; rows sum to 1.
    components_ : (K_1, n_features) float64 array
        Topics of layer 1.
    phi_ : tuple of (K_{l-1}, K_l) float64 arrays
        Topics of every layer over those of the layer below, or over the words; columns sum to 1.
    popularity_ : list of (K_l,) float64 arrays
        Share of every topic in its layer.
    coherence_ : list of (K_l,) float64 arrays
        Document NPMI of the ten heaviest words of every topic in the documents of ``fit``, -1 to 1.  A pair of words
        that never occur in one document counts -1, unlike in gensim's c_npmi.  Of more than 50,000 documents only every
        second, third ... is counted, so that it takes about a second at most.  NaN where there is only one word.
    diversity_ : list of float
        Share of distinct words among the ten heaviest words of all topics of each layer.  Topics that hold less than
        0.1 % of the layer are left out.
    seeded_ : dict
        The topics of layer 1 that were made from the words of ``topics``, by its keys (of a list, by position).
    n_iter_ : int
        Number of steps taken.
    config_ : object
        The settings of the model at the last ``fit``; parameters changed since then take effect at the next one.
    """

    _model = ""  # name of the model in the engine

    def __init__(
        self,
        *,
        layers: tuple[int, ...] = (128, 64, 32),
        inference: str | None = None,
        n_iter: int = 500,
        batch_size: int = 200,
        topics: Any = None,
        settings: Mapping[str, Any] | None = None,
        real_values: str = "refuse",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.layers = layers
        self.inference = inference
        self.n_iter = n_iter
        self.batch_size = batch_size
        self.topics = topics
        self.settings = settings
        self.real_values = real_values
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - as every transformer
        """Learn the hierarchy of topics.

        Parameters
        ----------
        X : (n_documents, n_words) array or sparse matrix
            Counts of words.
        y : ignored

        Raises
        ------
        ValueError
            When X does not hold counts, or a parameter or setting is not valid; the message is one sentence.
        """
        counts = self._read_counts(X, reset=True)
        return self._train(counts, np.full(counts.n_documents, -1, dtype=np.int32), 0)

    def transform(self, X: Any) -> FloatArray:
        """Place documents in the hierarchy.

        The random numbers of a document depend only on its words, so the result does not depend on the other documents.

        Returns
        -------
        (n_documents, K_1 + ... + K_L) float64
            Activations of layer 1, then layer 2 ...; those of one layer sum to 1.  Rows of documents without a word
            that the model knows are NaN, as in ``Run.infer``, and a warning names them.
        """
        check_is_fitted(self)
        counts = self._read_counts(X)
        theta = self._build_kernel().infer(self.seed_, self.state_, self._make_batch(counts), None).theta
        shares = np.hstack([paths.normalise_shares(layer) for layer in theta])
        shares[find_blank_rows(counts.starts)] = np.nan
        return shares

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002 - as every scorer
        """Return how well the topics predict held-out words; higher is better.

        A fifth of the tokens of every document (of its cells, if values are real numbers) is held out and predicted
        from the others by 40 Gibbs sweeps.  The score is the negative logarithm of the point perplexity.

        Returns
        -------
        float
            Mean log-probability of a held-out token; ``exp(-score)`` is the perplexity.

        Raises
        ------
        ValueError
            When no document has two tokens.
        """
        check_is_fitted(self)
        counts = self._read_counts(X)
        n = counts.n_documents
        corpus = Corpus(counts=counts, vocabulary=(), part=np.full(n, TRAIN, np.int8), labels=np.full(n, -1, np.int32))
        observed, scored = corpus.split_tokens(np.arange(n))
        if not len(scored.words):
            raise ValueError("score holds a fifth of the tokens of a document out, so X needs one with 2 tokens")
        kernel = self._build_kernel()
        value = evaluate.evaluate_point(kernel, self.seed_, self.state_, observed, scored, evaluate.SHORT)
        return -float(np.log(value)) if kernel.measure == "perplexity" else value

    def get_feature_names_out(self, input_features: Any = None) -> Array:  # noqa: ARG002 - as every transformer
        """Return the names of the columns of ``transform``: ``dlda_l1_0`` is topic 0 of layer 1."""
        check_is_fitted(self)
        prefix, layers = type(self).__name__.lower(), enumerate(self.topics_, start=1)
        names = [f"{prefix}_l{layer}_{topic}" for layer, table in layers for topic in range(len(table))]
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        """Return tags that allow X to be sparse and require it to be non-negative."""
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags

    def _find_image_shape(self) -> tuple[int, int] | None:
        """Return the height and width of documents that are images, None for others."""
        return None

    # ------------------------------------------------------------- training

    def _train(self, counts: Counts, labels: Array, n_classes: int) -> Self:
        """Train on documents with labels from 0, -1 = none, and set the fitted attributes."""
        n_iter = self._check_n_iter()
        self.seed_ = _draw_seed(self.random_state)
        self.n_classes_ = n_classes
        self.n_documents_ = counts.n_documents
        self.n_tokens_ = int(counts.values.sum(dtype=np.float64))
        kernel = self._build_kernel()
        self.seeded_: dict[Any, int | None] = {}
        seeds = read_topic_words(self.topics, list(getattr(self, "feature_names_in_", ())), self.n_features_in_)
        if seeds and SEED not in kernel.steers:
            raise SettingError(
                f"{type(self).__name__} with these settings makes no topics from words; leave topics out"
            )
        documents = np.arange(counts.n_documents)
        all_documents = take_documents(counts, documents, labels)
        first = take_documents(counts, first_topics.sample_documents(documents), labels)
        state = kernel.init_from_documents(self.seed_, first)
        if kernel.is_sweeping(state):
            state = kernel.prepare(self.seed_, state, all_documents)
        for t in range(1, n_iter + 1):
            batch = all_documents
            if not kernel.is_sweeping(state):
                batch = take_documents(counts, draw_minibatch(self.seed_, t, documents, kernel.batch_size), labels)
            state, _ = kernel.step(self.seed_, state, batch)
            if seeds and t >= self._choose_seed_step(n_iter) and kernel.takes_edits(state):
                state = self._seed_topics(kernel, state, all_documents, t, seeds)
                seeds = {}
        if seeds:
            raise SettingError(
                f"{type(self).__name__} makes topics from words once it sweeps all documents; give more n_iter"
            )
        return self._store_results(kernel, kernel.find_shown_state(state), counts)

    @staticmethod
    def _choose_seed_step(n_iter: int) -> int:
        """Return the step after which topics are made from words: before, no topic has found its own."""
        return max(1, min(20, n_iter // 4))

    def _seed_topics(
        self, kernel: Kernel, state: Any, documents: Batch, t: int, seeds: Mapping[Any, tuple[int, ...]]
    ) -> Any:
        """Return the state with a topic for each of the ``seeds``."""
        for number, (name, words) in enumerate(seeds.items(), start=1):
            state, result = kernel.edit(self.seed_, state, documents, Edit(number, t, SEED, words=words))
            self.seeded_[name] = result.topic
        return state

    def _check_n_iter(self) -> int:
        """Return the number of mini-batches; raise an error if it is not valid."""
        if isinstance(self.n_iter, bool) or not isinstance(self.n_iter, int | np.integer) or self.n_iter < 1:
            raise ValueError(f"n_iter must be a whole number of at least 1; got {self.n_iter!r}")
        return int(self.n_iter)

    def _store_results(self, kernel: Kernel, state: Any, counts: Counts) -> Self:
        """Set the fitted attributes from the state at the end of training."""
        learned = kernel.topics(state)
        self.state_ = state
        self.phi_ = learned.phi
        self.topics_ = [np.ascontiguousarray(table.T) for table in effects.list_topic_words(learned)]
        self.components_ = self.topics_[0]
        self.popularity_ = [topics.compute_shares(layer) for layer in effects.compute_popularity(learned)]
        lists = [topics.find_top_words(table.T, measures.WORDS)[0] for table in self.topics_]
        pairs = measures.count_pairs(np.concatenate([words.ravel() for words in lists]), counts, self.n_features_in_)
        self.coherence_ = [measures.compute_npmi(words, pairs) for words in lists]
        live = [~topics.find_light(layer) for layer in self.popularity_]
        self.diversity_ = [
            measures.measure_diversity(words[live_topics]) for words, live_topics in zip(lists, live, strict=True)
        ]
        self.n_iter_ = self._check_n_iter()
        return self

    def _make_config(self) -> Any:
        """Return the settings of the model; raise an error if one is not valid."""
        model = models.load(self._model).Config
        takes_tuple = {setting.name: setting.kind in ("widths", "numbers") for setting in describe(model)}
        parameters: dict[str, Any] = {"layers": self.layers}
        if "batch_size" in takes_tuple:
            parameters["batch_size"] = self.batch_size
        # Some models are named after their inference.
        if self.inference is not None and not self._model.endswith(f"-{self.inference}"):
            parameters["inference"] = self.inference
        if not isinstance(self.settings, Mapping | None):
            raise SettingError(f"settings must be a dictionary of settings by name; got {self.settings!r}")
        others = dict(self.settings or {})
        if duplicates := sorted(parameters.keys() & others.keys()):
            raise SettingError(f"give {duplicates[0]} as a parameter of {type(self).__name__}, not in settings")
        given = parameters | others
        if unknown := sorted(given.keys() - takes_tuple.keys()):
            available = ", ".join(name for name in takes_tuple if name not in parameters)
            raise SettingError(f"{type(self).__name__} has no setting {unknown[0]!r}; it has {available}")
        values = {name: strip_scalar(value) for name, value in given.items()}
        as_tuples = {
            name: (value,) for name, value in values.items() if takes_tuple[name] and not isinstance(value, tuple)
        }
        return self._check_length(model(**(self._list_own_defaults() | values | as_tuples)))

    def _check_length(self, config: Any) -> Any:
        """Return the settings; raise an error if ``n_iter`` is too small for them."""
        n_iter, growth = self._check_n_iter(), count_growth_steps(config)
        if n_iter <= growth:
            raise SettingError(
                f"learning the widths (grow) takes more than {growth} mini-batches, {config.grow_every} (grow_every) "
                f"for each of the layers, and n_iter is {n_iter}; give more n_iter or a smaller grow_every"
            )
        return config

    def _list_own_defaults(self) -> dict[str, Any]:
        """Return the defaults of settings that differ from the model's own defaults."""
        return {}

    def _build_kernel(self) -> Kernel:
        """Return the kernel of the model for the current settings and data."""
        facts = Facts(self.n_features_in_, self.n_documents_, self.n_classes_, self._find_image_shape(), self.n_tokens_)
        kernel: Kernel = models.load(self._model).build(self.config_, facts, n_threads=_count_threads(self.n_jobs))
        return kernel

    # ---------------------------------------------------------------- counts

    def _read_counts(self, X: Any, *, reset: bool = False) -> Counts:
        """Return documents as compressed rows; ``reset`` is True in ``fit``, which also sets ``config_``."""
        refuse_texts(type(self).__name__, X)
        checked = validate_data(
            self, X, accept_sparse="csr", dtype="numeric", ensure_non_negative=True, reset=reset,
        )  # fmt: skip
        table = sparse.csr_array(checked, copy=sparse.issparse(checked))
        table.sum_duplicates()
        table.eliminate_zeros()
        if reset:
            self.config_ = self._make_config()
        largest = float(table.data.max()) if len(table.data) else 0.0
        if largest > LARGEST_COUNT:
            raise ValueError(f"the values of X must be at most {LARGEST_COUNT}; got {largest:.10g}")
        real = getattr(self.config_, "link", "poisson") == "gamma"
        values = table.data.astype(np.float32) if real else self._round_counts(table)
        nonzero = sparse.csr_array((values, table.indices, table.indptr), shape=table.shape)
        nonzero.eliminate_zeros()
        return Counts(nonzero.indptr.astype(np.int64), nonzero.indices.astype(np.int32), nonzero.data)

    def _round_counts(self, table: Any) -> Array:
        """Return the values of a table as whole numbers; raise an error if they are not and may not be rounded."""
        # Double precision, since rint turns bytes into float16, and float32 cannot represent 2^31 - 1.
        values = np.asarray(table.data, dtype=np.float64)
        rounded = np.rint(values)
        if self.real_values not in ("refuse", "round"):
            raise ValueError(f"real_values must be 'refuse' or 'round'; got {self.real_values!r}")
        if self.real_values == "refuse" and not np.array_equal(rounded, values):
            position = int(np.flatnonzero(rounded != values)[0])
            row = int(np.searchsorted(table.indptr, position, side="right")) - 1
            raise ValueError(
                f"{type(self).__name__} reads counts, so X must hold whole numbers; got {values[position]!s} in row "
                f"{row}: give counts, or set real_values='round'"
            )
        return rounded.astype(np.int32)

    def _make_batch(self, counts: Counts) -> Batch:
        """Return a batch of documents, each with a hash of its words as its number."""
        cells = [slice(*edges) for edges in pairwise(counts.starts.tolist())]
        numbers = np.array([number_document(counts.words[span], counts.values[span]) for span in cells], dtype=np.int64)
        return counts.batch(numbers)


def _draw_seed(random_state: Any) -> int:
    """Return a seed drawn from what scikit-learn takes as a random state, or from a generator of NumPy."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(LARGEST_SEED))
    return int(check_random_state(random_state).randint(LARGEST_SEED))


def _count_threads(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` stands for."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a whole number other than 0, -1 for every processor; got {n_jobs!r}")
    return max(1, count_processors() + 1 + int(n_jobs)) if n_jobs < 0 else int(n_jobs)


class DLDA(TopicEstimator):
    """Deep latent Dirichlet allocation.

    Parameters
    ----------
    layers : tuple of int, default=(128, 64, 32)
        Number of topics of every layer, from the one next to the words upwards.
    inference : {"auto", "tlasgr", "tlfsgr", "sgrld", "gibbs"}, optional
        How topics are learned; the model's default (auto) when not given.
    n_iter : int, default=500
        Number of mini-batches, or of sweeps over all documents for gibbs.
    batch_size : int, default=200
        Number of documents in a mini-batch.
    topics : dict or list, optional
        What is known of the topics: for each a list of at least two words, numbers of columns of X or names of the
        columns of a table; with names of the topics if it is a dictionary.  Each becomes a topic of layer 1 after the
        first steps, by a step that seeds it; ``seeded_`` says which.
    settings : dict, optional
        Settings of the model by name, other than the parameters of this class, for example ``{"eta": (0.1,)}``.
    real_values : {"refuse", "round"}, default="refuse"
        What to do with values that are not whole numbers.
    random_state : int, Generator, RandomState or None, default=None
        The same number gives the same topics for any ``n_jobs``.
    n_jobs : int, optional
        Number of threads; -1 = one for every processor.

    Examples
    --------
    >>> import numpy as np
    >>> from topiary import DLDA
    >>> counts = np.array([[3, 2, 0, 0], [2, 4, 0, 0], [0, 0, 5, 1], [0, 1, 2, 4]])
    >>> model = DLDA(layers=(3, 2), n_iter=20, random_state=0).fit(counts)
    >>> model.transform(counts).shape
    (4, 5)
    """

    _model = "dlda"


class DATM(TopicEstimator):
    """Deep autoencoding topic model: the hierarchy of DLDA, and an encoder that places a document in one pass.

    Parameters
    ----------
    layers : tuple of int, default=(128, 64, 32)
        Number of topics of every layer, from the one next to the words upwards.
    inference : {"whai", "wai", "iwhai", "ghai"}, optional
        How topics and encoder are learned; the model's default (whai) when not given.
    n_iter : int, default=500
        Number of mini-batches.
    batch_size : int, default=200
        Number of documents in a mini-batch.
    topics : dict or list, optional
        As for :class:`DLDA`.
    settings : dict, optional
        Any other setting of the model by name.
    real_values : {"refuse", "round"}, default="refuse"
        What to do with values that are not whole numbers.
    random_state : int, Generator, RandomState or None, default=None
        The same number gives the same topics for any ``n_jobs``.
    n_jobs : int, optional
        Number of threads; -1 = one for every processor.
    """

    _model = "datm"


class LDA(TopicEstimator):
    """Latent Dirichlet allocation with three methods of inference.

    Parameters
    ----------
    layers : tuple of int, default=(128,)
        The number of topics, in a tuple as for the models of several layers.
    inference : {"gibbs", "cavi", "svi"}, default="gibbs"
        Gibbs sampling, coordinate ascent, or stochastic variational inference.
    n_iter : int, default=200
        Number of sweeps over all documents, or of mini-batches for svi.
    batch_size, topics, settings, real_values, random_state, n_jobs
        As for :class:`DLDA`; only svi has mini-batches.
    """

    def __init__(
        self,
        *,
        layers: tuple[int, ...] = (128,),
        inference: str = "gibbs",
        n_iter: int = 200,
        batch_size: int = 256,
        topics: Any = None,
        settings: Mapping[str, Any] | None = None,
        real_values: str = "refuse",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            layers=layers,
            inference=inference,
            n_iter=n_iter,
            batch_size=batch_size,
            topics=topics,
            settings=settings,
            real_values=real_values,
            random_state=random_state,
            n_jobs=n_jobs,
        )

    @property
    def _model(self) -> str:  # type: ignore[override]
        if self.inference not in ("gibbs", "cavi", "svi"):
            raise SettingError(f"inference of LDA must be 'gibbs', 'cavi' or 'svi'; got {self.inference!r}")
        return f"lda-{self.inference}"


class DPFA(TopicEstimator):
    """Deep Poisson factor analysis: topics switched on and off by a network of binary units.

    Parameters
    ----------
    layers, inference, n_iter, batch_size, topics, settings, real_values, random_state, n_jobs
        As for :class:`DLDA`, except that ``inference`` is one of the model ``dpfa``.
    """

    _model = "dpfa"


class DEF(TopicEstimator):
    """Deep exponential family: layers of gamma, binary or count units by black-box variational inference.

    Parameters
    ----------
    layers, n_iter, batch_size, settings, real_values, random_state, n_jobs
        As for :class:`DLDA`.  There is only one ``inference``, so leave it None, and no ``topics``.
    """

    _model = "deep-exp-family"


class SDATM(ClassifierMixin, TopicEstimator):  # type: ignore[misc]
    """Supervised deep autoencoding topic model: labels influence the topics and are predicted for new documents.

    Parameters
    ----------
    layers, inference, n_iter, batch_size, topics, settings, real_values, random_state, n_jobs
        As for :class:`DATM`.  By default labels take effect after a quarter of the mini-batches (at most 500).
    unlabelled : object, optional
        The value in ``y`` of documents without a label, which are used for everything else; None by default.
        A None or NaN in ``y`` that is not this value raises an error.
    image_shape : (height, width), optional
        Size of documents that are images, whose words are the pixels row by row; required by the setting ``moved``.

    Attributes
    ----------
    classes_ : (n_classes,) array
        The labels.
    """

    _model = "sdatm"

    def __init__(
        self,
        *,
        layers: tuple[int, ...] = (128, 64, 32),
        inference: str | None = None,
        n_iter: int = 1000,
        batch_size: int = 200,
        topics: Any = None,
        settings: Mapping[str, Any] | None = None,
        real_values: str = "refuse",
        unlabelled: Any = None,
        image_shape: tuple[int, int] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            layers=layers,
            inference=inference,
            n_iter=n_iter,
            batch_size=batch_size,
            topics=topics,
            settings=settings,
            real_values=real_values,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.unlabelled = unlabelled
        self.image_shape = image_shape

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn topics and labels.

        Parameters
        ----------
        X : (n_documents, n_words) array or sparse matrix
            Counts.
        y : (n_documents,) array
            Labels; ``unlabelled`` for documents without one.

        Raises
        ------
        ValueError
            When X does not hold counts, y does not match X, or a parameter or setting is not valid.
        """
        if y is None:
            validate_data(self, X, y)  # raises the usual error of scikit-learn
        counts = self._read_counts(X, reset=True)
        self.classes_, labels = read_labels(y, strip_scalar(self.unlabelled))
        check_consistent_length(X, labels)
        if len(self.classes_) < 2:
            raise ValueError(f"SDATM needs labels of at least 2 classes; y has only 1 class or none: {self.classes_}")
        return self._train(counts, labels, len(self.classes_))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every label for every document, (n_documents, n_classes).

        Documents without any word that the model knows get the prediction of an empty document, and a warning.
        """
        check_is_fitted(self)
        kernel = self._build_kernel()
        if not isinstance(kernel, PredictingKernel):
            raise LookupError("this model does not predict labels")  # noqa: TRY004 - not of a caller
        counts = self._read_counts(X)
        find_blank_rows(counts.starts)
        return paths.normalise_shares(kernel.predict(self.seed_, self.state_, self._make_batch(counts)))

    def predict(self, X: Any) -> Array:
        """Return the most probable label of every document, (n_documents,)."""
        probabilities = self.predict_proba(X)  # before `classes_`, since it checks that the estimator is fitted
        return np.asarray(self.classes_[np.argmax(probabilities, axis=1)])

    def __sklearn_tags__(self) -> Tags:
        """Return tags that tell scikit-learn's checks to expect poor scores on a few real-valued features."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _find_image_shape(self) -> tuple[int, int] | None:
        """Return ``image_shape``; raise an error if it does not match the number of features."""
        if self.image_shape is None:
            return None
        shape = strip_scalar(self.image_shape)
        sides = shape if isinstance(shape, tuple) else ()
        valid = len(sides) == 2 and all(type(side) is int and side > 0 for side in sides)
        if not valid or sides[0] * sides[1] != self.n_features_in_:
            raise ValueError(
                f"image_shape is height and width, {self.n_features_in_} pixels together as X has features; "
                f"got {self.image_shape!r}"
            )
        return sides[0], sides[1]

    def _list_own_defaults(self) -> dict[str, Any]:
        """Return defaults with which labels take effect even in a short training."""
        n_iter = self._check_n_iter()
        return {"label_start": min(500, n_iter // 4), "label_ramp": min(200, n_iter // 8)}

    def _check_length(self, config: Any) -> Any:
        """Return the settings; raise an error if training ends before labels take effect."""
        super()._check_length(config)
        if config.label_weight and config.label_start >= self.n_iter:
            raise SettingError(
                f"labels count after {config.label_start} mini-batches (label_start), and n_iter is {self.n_iter}; "
                "give more n_iter or a smaller label_start"
            )
        return config


def refuse_texts(name: str, X: Any) -> None:
    """Raise an error if X holds texts, or has a column of texts, instead of counts; ``name`` is the estimator's.

    Raises
    ------
    TypeError
        When X is not a table.
    ValueError
        When X holds texts; the message advises to put a CountVectorizer before the estimator.
    """
    wants = f"{name} reads counts of words"
    way = f"put a CountVectorizer before it, as in make_pipeline({{}}, {name}())"
    usual = way.format("CountVectorizer()")
    if isinstance(X, str | bytes | os.PathLike):
        raise TypeError(f"{wants}, and X is one text ({_quote_value(X)}): {usual}, and give that a list of texts")
    if X is None or (isinstance(X, Mapping | Iterator) and not issparse(X)):  # a dok_matrix is a dictionary too
        kind = "None" if X is None else f"a {type(X).__name__}"
        raise TypeError(f"{wants}, and X is {kind}: give an array or a sparse matrix, a row for each document")
    columns = _list_text_columns(X)
    if columns:
        name = repr(columns[0])
        raise ValueError(f"{wants}, and the column {name} of X holds texts: {usual}, and give that X[{name}]")
    text = None if hasattr(X, "columns") else _find_text(X)
    listed = not isinstance(text, str | bytes)
    if text is not None:
        kind, way = ("lists of words", way.format("CountVectorizer(analyzer=list)")) if listed else ("texts", usual)
        raise ValueError(f"{wants}, and X holds {kind} ({_quote_value(text)}): {way}")


def find_blank_rows(starts: Array) -> Array:
    """Return the rows of documents without words, and warn about them.

    ``starts`` are the positions where the rows begin, and where the last one ends.
    """
    rows = np.flatnonzero(np.diff(starts) == 0)
    if len(rows):
        named = ", ".join(map(str, rows[:_MOST_ROWS])) + (" ..." if len(rows) > _MOST_ROWS else "")
        one = len(rows) == 1
        warnings.warn(
            f"{len(rows):,} of {len(starts) - 1:,} documents {'has' if one else 'have'} no word that the model knows "
            f"(row{'' if one else 's'} {named}): nothing can be said of {'it' if one else 'them'}",
            UserWarning,
            stacklevel=3,
        )
    return rows


def _list_text_columns(X: Any) -> list[Any]:
    """Return the columns of a table that hold texts; an empty list if X is not a table with columns."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return []
    candidates = [name for name, kind in zip(X.columns, X.dtypes, strict=True) if _may_be_text(kind)]
    return [name for name in candidates if _find_text(X[name]) is not None]


def _may_be_text(kind: Any) -> bool:
    """Return whether a column of this type may hold texts."""
    return getattr(kind, "kind", "O") in "OUS" or str(kind).lower() in ("string", "str", "category", "utf8")


def _find_text(X: Any) -> Any:
    """Return the first text, or list of words, among the first values of a list or an array; None for none."""
    dtype = getattr(X, "dtype", None)
    if getattr(dtype, "kind", "O") not in "OUST" or hasattr(X, "indptr") or not isinstance(X, Iterable):
        return None
    for value in islice(X.ravel() if isinstance(X, np.ndarray) else X, _MOST_SEARCHED):
        text = value.as_py() if hasattr(value, "as_py") else value
        if isinstance(text, str | bytes) and not _is_number(text):
            return text
        if isinstance(text, list | tuple) and any(isinstance(each, str) and not _is_number(each) for each in text):
            return text
    return None


def _is_number(text: str | bytes) -> bool:
    """Return whether a text is a number; scikit-learn converts such texts."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _quote_value(value: Any) -> str:
    text = repr(str(value) if isinstance(value, str) else value)
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}..."


def read_labels(y: Any, mark: Any) -> tuple[Array, Array]:
    """Return the classes, and the class of every document, from 0; -1 where y holds ``mark``.

    Raises
    ------
    TypeError
        When y is a single text or a dictionary.
    ValueError
        When y holds None or NaN that is not the mark, mixes text and numbers, or is not valid as classes.
    """
    y = list(y) if isinstance(y, Iterator) else y
    _refuse_several(y)
    listed = isinstance(y, list | tuple)
    # As objects, since NumPy would convert both 0 and "?" to texts.
    given = column_or_1d(np.asarray(y, dtype=object) if listed else y, warn=True)
    known = np.array([not _is_mark(value, mark, row) for row, value in enumerate(strip_scalar(given))], dtype=bool)
    present = given[known]
    if present.dtype == object:
        present = _unify_type(present, listed=listed)
    assert_all_finite(present, input_name="y", estimator_name="SDATM")
    check_classification_targets(present)
    classes, numbers = np.unique(present, return_inverse=True)
    if twins := [label for label in strip_scalar(classes) if _reads_like(label, mark)]:
        raise ValueError(f"unlabelled is {mark!r}, and y has {twins[0]!r}, which is not equal: give both the same type")
    labels = np.full(len(known), -1, dtype=np.int32)
    labels[known] = numbers
    return classes, labels


def _refuse_several(y: Any) -> None:
    """Raise an error for labels that are one text, a table, or several for a document."""
    if isinstance(y, str | bytes | Mapping):
        kind = "one text" if isinstance(y, str | bytes) else f"a {type(y).__name__}"
        raise TypeError(f"y is {kind}: give a list or an array with one label for each document")
    if len(getattr(y, "columns", ())) > 1:
        raise ValueError(f"y is a table of {len(y.columns)} columns: give the one with the labels, y[{y.columns[0]!r}]")
    for row, value in enumerate(y if isinstance(y, list | tuple) else ()):
        several = isinstance(value, list | tuple | np.ndarray) and np.ndim(value) and len(value) != 1
        if several or isinstance(value, set | frozenset | Mapping):
            raise ValueError(f"row {row} of y is {value!r}: a document has one label; choose one of several")


def _unify_type(labels: Array, *, listed: bool) -> Array:
    """Return labels as an array of their own type instead of objects; an array of texts is returned unchanged."""
    kinds = {isinstance(label, str): label for label in labels}
    if len(kinds) > 1:
        raise ValueError(f"labels must be all words or all numbers; y has {kinds[True]!r} and {kinds[False]!r}")
    return np.asarray(column_or_1d(labels.tolist())) if listed or False in kinds else labels


def _is_mark(value: Any, mark: Any, row: int) -> bool:
    """Return whether a value of y marks a document without a label; ``row`` is for the error message."""
    missing_value, missing_mark = _name_missing(value), _name_missing(mark)
    if missing_value and missing_value != missing_mark:
        raise ValueError(f"row {row} of y is {value}, which is no label: give one, or set unlabelled={missing_value}")
    return bool(missing_value if missing_mark else value == mark)


def _name_missing(value: Any) -> str:
    """Return "None" or "np.nan" for a missing value (also pandas' NA and NaT), "" for a value that can be a label."""
    if value is None:
        return "None"
    return "np.nan" if not isinstance(value, str) and str(value) in ("nan", "<NA>", "NaT") else ""


def _reads_like(label: Any, mark: Any) -> bool:
    """Return whether a label and the mark differ only in their type, as -1 and "-1" do."""
    if mark is None or isinstance(label, str) == isinstance(mark, str):
        return False
    try:
        return str(label) == str(mark) or float(label) == float(mark)
    except (TypeError, ValueError):
        return False


def strip_scalar(value: Any) -> Any:
    """Return a parameter without NumPy's types: numbers as Python numbers, lists and arrays as tuples."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    return tuple(strip_scalar(each) for each in value) if isinstance(value, list | tuple) else value


def read_topic_words(topics: Any, names: list[str], n_words: int) -> dict[Any, tuple[int, ...]]:
    """Return the numbers of the words of each of some topics, by name, or by position in a list.

    Parameters
    ----------
    topics : dict, list or None
        Words of each topic, as numbers or names of columns.
    names : list of str
        Names of the columns; empty if they have none.
    n_words : int
        Number of columns.

    Raises
    ------
    ValueError
        When a word is no column, or a topic has less than two; the message is one sentence.
    """
    if not isinstance(topics, Mapping | list | tuple | None):
        raise ValueError(f"topics must be a dictionary or list with words for each topic; got {_quote_value(topics)}")  # noqa: TRY004 - as scikit-learn
    listed = topics if isinstance(topics, Mapping) else dict(enumerate(topics or ()))
    columns = {name: number for number, name in enumerate(names)} | {number: number for number in range(n_words)}
    found: dict[Any, tuple[int, ...]] = {}
    for key, words in listed.items():
        if isinstance(words, str) or not isinstance(words, Iterable):
            raise ValueError(f"the words of topic {key!r} are no list; give at least two in one")  # noqa: TRY004
        plain = [strip_scalar(word) for word in words]
        if unknown := [word for word in plain if word not in columns]:
            has = (
                "the names of its columns are known only of a table"
                if isinstance(unknown[0], str) and not names
                else f"it has {n_words}"
            )
            raise ValueError(f"topic {key!r} has the word {unknown[0]!r}, which is no column of X; {has}")
        found[key] = tuple(dict.fromkeys(columns[word] for word in plain))
        if len(found[key]) < 2:
            raise ValueError(f"topic {key!r} needs at least two different words, and has {len(found[key])}")
    return found


LARGEST_SEED = 2**31 - 1
LARGEST_COUNT = 2**31 - 1
