"""Topiary as a library: estimators of scikit-learn's kind, and a store with its corpora and runs.

    import topiary

    with topiary.open() as store:
        corpus = store.import_corpus("reports/")
        run = store.train(corpus, layers=(64, 32), wait=True)
        run.topics(layer=2)

What is heavy (numba, pandas, scikit-learn, the plots) is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .shadowing import ShadowedError, refuse_shadows

if TYPE_CHECKING:
    from types import ModuleType

    from app.analysis.predictions import ClassError
    from app.estimators.models import DATM, DEF, DLDA, DPFA, LDA, SDATM
    from app.ingest.errors import IngestError
    from app.ingest.options import OptionError
    from app.jobs.cluster.place import PlaceError
    from app.jobs.run_rules import NewRunError
    from store.errors import Conflict, NotFound, StoreError

    from .classification import Classification
    from .comparison import Comparison
    from .corpus import Corpus
    from .inference import Inference
    from .run import Run, RunFailed
    from .stores import Store, open

    plots: ModuleType

_PLACES = {
    "Classification": ".classification",
    "Comparison": ".comparison",
    "ClassError": "app.analysis.predictions",
    "Conflict": "store.errors",
    "Corpus": ".corpus",
    "DATM": "app.estimators.models",
    "DLDA": "app.estimators.models",
    "Inference": ".inference",
    "IngestError": "app.ingest.errors",
    "NotFound": "store.errors",
    "OptionError": "app.ingest.options",
    "NewRunError": "app.jobs.new_run",
    "PlaceError": "app.jobs.cluster.place",
    "Run": ".run",
    "RunFailed": ".run",
    "DEF": "app.estimators.models",
    "DPFA": "app.estimators.models",
    "LDA": "app.estimators.models",
    "SDATM": "app.estimators.models",
    "Store": ".stores",
    "StoreError": "store.errors",
    "open": ".stores",
    "plots": ".plots",
}

__all__ = [
    "DATM",
    "DEF",
    "DLDA",
    "DPFA",
    "LDA",
    "SDATM",
    "ClassError",
    "Classification",
    "Comparison",
    "Conflict",
    "Corpus",
    "Inference",
    "IngestError",
    "NewRunError",
    "NotFound",
    "OptionError",
    "PlaceError",
    "Run",
    "RunFailed",
    "ShadowedError",
    "Store",
    "StoreError",
    "open",
    "plots",
]


def __getattr__(name: str) -> Any:
    """Load a name when it is first used."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    refuse_shadows()
    module = import_module(_PLACES[name], __name__)
    found = module if name == "plots" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Tell what there is, loaded or not."""
    return sorted({*globals(), *__all__})
