"""Topiary as a library: estimators of scikit-learn's kind, and a store with its corpora and runs.

    import topiary

    with topiary.open() as store:
        corpus = store.import_corpus("reports/")
        run = store.train(corpus, layers=(64, 32), wait=True)
        run.topics(layer=2)

Heavy parts (numba, pandas, scikit-learn, the plots) are loaded at their first use.
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
_ROOT = _HERE.parent.parent if _HERE.name == "library" else _HERE.parent  # in a checkout; installed

_PLACES = {
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
    """Load a name when it is first used."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    refuse_shadows()
    module = import_module(_PLACES[name], __name__)
    found = module if name == "plots" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List all names, loaded or not."""
    return sorted({*globals(), *__all__})


class ShadowedError(ImportError):
    """A file or folder is called like a package of Topiary and found before it; the message is one sentence."""


def refuse_shadows() -> None:
    """Refuse to go on when another module would be imported in the place of one of ours.

    Raises
    ------
    ShadowedError
        Naming the file or folder that is in the way.
    """
    if sentence := next(filter(None, map(_describe_shadow, PACKAGES)), ""):
        raise ShadowedError(sentence)


def _describe_shadow(name: str) -> str:
    found = _find_place(name)
    if found is None:
        return f"the package {name!r} of Topiary is missing from this installation; install Topiary again"
    if found == _ROOT / name / "__init__.py":
        return ""
    kind, path = ("file", found) if found.name != "__init__.py" else ("folder", found.parent)
    kind = "folder" if found.is_dir() else kind
    return (
        f"the {kind} {path} hides the package {name!r} of Topiary; "
        "rename it, start Python from another folder, or remove its folder from PYTHONPATH"
    )


def _find_place(name: str) -> Path | None:
    """Return the file that a name is imported from; the folder of a package without code."""
    try:
        spec = find_spec(name)
    except ValueError:  # imported already, by other means than import
        return Path(getattr(sys.modules[name], "__file__", None) or name).resolve()
    if spec is None:
        return None
    origin = spec.origin or next(iter(spec.submodule_search_locations or ()), name)
    return Path(origin).resolve()
