"""How long a run is where nobody says, and from when on it may end by itself."""

from typing import Any

from engine import models, shared_settings
from engine.contract import Facts
from store.corpus_rows import CorpusRow

EPOCHS = 12  # passes over the training documents after which topics of mini-batches hardly change
LEAST_STEPS, MOST_STEPS = 300, 3500  # mini-batches; a small corpus needs some to begin with, and 3,500 are the papers'
SWEEPS = 300  # of a batch sampler
PLATEAU_PASSES = 2  # over the training documents before a plateau of mini-batches is believed


def usual_length(model: str, config: Any, about: CorpusRow) -> int:
    """Steps of a run whose length nobody gave.

    Parameters
    ----------
    model : str
    config : Config
        The settings of the run.
    about : CorpusRow

    Returns
    -------
    int
        300 sweeps where all documents are swept, after the mini-batches that come before (a run of ``auto`` ends
        sooner, at a plateau of its curve); else twelve passes over the corpus, 300 to 3,500 mini-batches.  Models with
        a length of their own name it ``STEPS``.  Learning the widths comes before that.
    """
    own: int | None = getattr(models.load(model), "STEPS", None)
    if own is not None:
        return max(own, 2 * learnt(config))
    after = sweeps_after(config, about)
    if after is not None:
        return SWEEPS + after + learnt(config)
    passes = -(-EPOCHS * about.train_documents // config.batch_size)
    return min(max(passes, LEAST_STEPS), MOST_STEPS) + learnt(config)


def sweeps_after(config: Any, about: CorpusRow) -> int | None:
    """After how many mini-batches a run sweeps all documents of a corpus; None where it never does."""
    if not hasattr(config, "sweeps_after"):
        return None
    tokens = about.tokens * about.train_documents // max(1, about.documents)
    facts = Facts(about.words, about.train_documents, n_tokens=tokens)
    return config.sweeps_after(facts)


def ends_by_itself(config: Any, about: CorpusRow) -> bool:
    """Whether a run may end at a plateau: where the model says so, and all documents are swept."""
    return getattr(config, "until_plateau", False) and sweeps_after(config, about) is not None


def plateau_from(config: Any, about: CorpusRow) -> int:
    """The mini-batch before which no plateau counts; 0 of a run that sweeps, which has a rule of its own.

    The curve must have had time to fall: twice as long as widths are learnt and labels do not count, and some passes.
    """
    if sweeps_after(config, about) is not None:
        return 0
    passes = -(-PLATEAU_PASSES * about.train_documents // getattr(config, "batch_size", about.train_documents))
    unlabelled = config.label_start if getattr(config, "label_weight", 0.0) else 0
    return max(passes, 2 * learnt(config), 2 * unlabelled)


def learnt(config: Any) -> int:
    """Steps after which the widths of a run that learns them are settled; 0 where they are given."""
    if not getattr(config, "grow", False):
        return 0
    return shared_settings.count_growth_steps(config)
