"""Topiary as a library: estimators with scikit-learn's interface, and a store with its corpora and runs.

    import topiary

    with topiary.open() as store:
        corpus = store.import_corpus("reports/")
        run = store.train(corpus, layers=(64, 32), wait=True)
        run.topics(layer=2)

Slow imports (numba, pandas, scikit-learn, the plots) are loaded at first use.
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from app.analysis.predictions import ClassError
    from app.estimators.models import DATM, DEF, DLDA, DPFA, LDA, SDATM
    from app.ingest.errors import IngestError
    from app.ingest.options import OptionError
    from app.jobs.cluster.place import PlaceError
    from app.jobs.run_rules import NewRunError
    from store.errors import Conflict, NotFound, StoreError

    from .corpora import Corpus
    from .results import Classification, Comparison, Inference
    from .run import Run, RunFailed
    from .stores import Store, open

    plots: ModuleType

PACKAGES = ("app", "engine", "store")
_HERE = Path(__file__).resolve().parent
_ROOT = _HERE.parent.parent if _HERE.name == "library" else _HERE.parent  # in a checkout, or installed

_MODULES = {
    "Classification": ".results",
    "Comparison": ".results",
    "ClassError": "app.analysis.predictions",
    "Conflict": "store.errors",
    "Corpus": ".corpora",
    "DATM": "app.estimators.models",
    "DLDA": "app.estimators.models",
    "Inference": ".results",
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
    """Import a name of the library at its first use."""
    if name == "__version__":
        from app.machine import find_version

        return find_version()
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    refuse_shadows()
    module = import_module(_MODULES[name], __name__)
    value = module if name == "plots" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted(__all__)


class ShadowedError(ImportError):
    """A file or folder hides a package of Topiary because it has the same name; the message is one sentence."""


def refuse_shadows() -> None:
    """Refuse to go on if another module would be imported instead of one of our packages.

    Raises
    ------
    ShadowedError
        When a package is hidden or missing; the message names the file or folder that hides it.
    """
    if sentence := next(filter(None, map(_describe_shadow, PACKAGES)), ""):
        raise ShadowedError(sentence)


def _describe_shadow(name: str) -> str:
    """Return a sentence if a package is hidden or missing, else an empty string."""
    origin = _find_place(name)
    if origin is None:
        return f"the package {name!r} of Topiary is missing from this installation; install Topiary again"
    if origin == _ROOT / name / "__init__.py":
        return ""
    kind, path = ("file", origin) if origin.name != "__init__.py" else ("folder", origin.parent)
    kind = "folder" if origin.is_dir() else kind
    return (
        f"the {kind} {path} hides the package {name!r} of Topiary; "
        "rename it, start Python from another folder, or remove its folder from PYTHONPATH"
    )


def _find_place(name: str) -> Path | None:
    """Return the file from which a package is imported, or the folder of a namespace package; None if missing."""
    try:
        spec = find_spec(name)
    except ValueError:  # the module was loaded without a spec
        return Path(getattr(sys.modules[name], "__file__", None) or name).resolve()
    if spec is None:
        return None
    origin = spec.origin or next(iter(spec.submodule_search_locations or ()), name)
    return Path(origin).resolve()
