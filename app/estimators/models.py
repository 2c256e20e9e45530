"""The models as scikit-learn estimators: they transform documents, and ``SDATM`` also classifies them.

    from topiary import DLDA
    model = DLDA(layers=(64, 32), n_iter=500, random_state=0).fit(counts)
    model.transform(counts)      # activations of layer 1, then 2, as shares of each layer
    model.topics_[1]             # topics of layer 2 over the words

They use only the engine: no store and no worker, and they write no files.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from topiary.app.estimators.base import TopicEstimator, find_blank_rows, read_labels, strip_scalar
from topiary.engine.contract import Array, FloatArray, PredictingKernel
from topiary.engine.hierarchy import paths
from topiary.engine.settings import SettingError


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
