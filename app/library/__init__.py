"""Topiary as a library: estimators with scikit-learn's interface, and a store with its corpora and runs.

    import topiary

    with topiary.open() as store:
        corpus = store.import_corpus("reports/")
        run = store.train(corpus, layers=(64, 32), wait=True)
        run.topics(layer=2)

Slow imports (numba, pandas, scikit-learn, the plots) are loaded at first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from topiary.app.analysis.errors import ReadError
    from topiary.app.estimators.models import DATM, DEF, DLDA, DPFA, LDA, SDATM
    from topiary.app.ingest.errors import IngestError
    from topiary.app.ingest.options import OptionError
    from topiary.app.jobs.cluster.place import PlaceError
    from topiary.app.jobs.run_rules import NewRunError
    from topiary.engine.steering.edit import EditRefused
    from topiary.store.errors import Conflict, NotFound, StoreError

    from .corpora import Corpus
    from .results import Classification, Comparison, Inference
    from .run import Run, RunFailed
    from .stores import Store, open

    plots: ModuleType

_MODULES = {
    "Classification": ".results",
    "Comparison": ".results",
    "ReadError": "topiary.app.analysis.errors",
    "Conflict": "topiary.store.errors",
    "Corpus": ".corpora",
    "DATM": "topiary.app.estimators.models",
    "DLDA": "topiary.app.estimators.models",
    "EditRefused": "topiary.engine.steering.edit",
    "Inference": ".results",
    "IngestError": "topiary.app.ingest.errors",
    "NotFound": "topiary.store.errors",
    "OptionError": "topiary.app.ingest.options",
    "NewRunError": "topiary.app.jobs.new_run",
    "PlaceError": "topiary.app.jobs.cluster.place",
    "Run": ".run",
    "RunFailed": ".run",
    "DEF": "topiary.app.estimators.models",
    "DPFA": "topiary.app.estimators.models",
    "LDA": "topiary.app.estimators.models",
    "SDATM": "topiary.app.estimators.models",
    "Store": ".stores",
    "StoreError": "topiary.store.errors",
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
    "Classification",
    "Comparison",
    "Conflict",
    "Corpus",
    "EditRefused",
    "Inference",
    "IngestError",
    "NewRunError",
    "NotFound",
    "OptionError",
    "PlaceError",
    "ReadError",
    "Run",
    "RunFailed",
    "Store",
    "StoreError",
    "open",
    "plots",
]


def __getattr__(name: str) -> Any:
    """Import a name of the library at its first use."""
    if name == "__version__":
        from topiary.app.machine import find_version

        return find_version()
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_MODULES[name], __name__)
    value = module if name == "plots" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted(__all__)
