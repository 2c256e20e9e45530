"""What stands against an order while somebody still writes it, by the fields that could be changed."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from app.jobs.forks import inherited
from app.jobs.new_run import NewRun, NewRunError, check_length, check_numbers, check_pictures, with_link
from engine import models, settings
from engine.settings import SettingError
from store.corpora import CorpusRow


def objections(about: CorpusRow, request: NewRun) -> dict[str, str]:
    """The first reason for which :func:`app.jobs.new_run.place` would refuse a run, at every field that could mend it.

    Only what the row of the corpus tells is looked at: nothing waits for the store while somebody types.

    Parameters
    ----------
    about : CorpusRow
        The corpus of the order.
    request : NewRun
        Its settings can be read, each by itself and all together.

    Returns
    -------
    dict of str
        The same sentence by field: that of the rule, and the settings of the model that the sentence names.
    """
    checks: tuple[tuple[str, Callable[[], object]], ...] = (
        ("model", partial(_check_kind, about, request.model)),
        ("link", partial(with_link, about, request.model, request.texts)),
        ("minibatches", lambda: check_length(_config(about, request), request.minibatches, request.fork)),
        ("moved", lambda: check_pictures(about, _config(about, request))),
        ("corpus", partial(check_numbers, about, request.seed, averaged=False)),
        ("averaged", partial(check_numbers, about, request.seed, averaged=request.averaged)),
    )
    field, said = next(((field, said) for field, check in checks if (said := _refusal(check))), ("", ""))
    return dict.fromkeys((field, *_named(said, request.model)), said) if said else {}


def _check_kind(about: CorpusRow, model: str) -> None:
    """Refuse a model that reads other corpora, in the words of the form."""
    module = models.load(model)
    if getattr(module, "NEEDS_LABELS", False) and len(about.label_names) < 2:
        raise NewRunError(
            f"this model learns from labels of at least two classes, which {about.name!r} does not have; "
            "choose another model, or a corpus with labels"
        )
    links = {setting.name for setting in settings.describe(module.Config)}
    if about.kind == "real" and "link" not in links:
        counts = ", or add the pictures again with 16 grey values of images" if about.image_shape else ""
        raise NewRunError(f"this model reads counts, and {about.name!r} holds real numbers; choose DLDA{counts}")


def _config(about: CorpusRow, request: NewRun) -> Any:
    texts = inherited(request.fork, request.model, request.texts) | request.texts if request.fork else request.texts
    return settings.parse(models.load(request.model).Config, with_link(about, request.model, texts))


def _refusal(check: Callable[[], object]) -> str:
    try:
        check()
    except (NewRunError, SettingError) as error:
        return str(error)
    return ""


def _named(said: str, model: str) -> list[str]:
    """Settings of a model that a sentence calls by their names."""
    names = {setting.name for setting in settings.describe(models.load(model).Config)}
    return [name for name in re.findall(r"\b[a-z]+_\w+", said) if name in names]
