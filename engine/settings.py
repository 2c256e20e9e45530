"""Settings of a model: dataclass fields with a label, a help text, bounds and choices.

A model's ``Config`` is a frozen, keyword-only dataclass whose fields are made by :func:`setting`.  It checks itself
when it is made (:func:`check` in ``__post_init__``); the form of a new run is made from its fields (:func:`describe`),
and it can be read from text (:func:`parse`).
"""

import dataclasses
import math
import types
import typing
from typing import Any, NamedTuple

# Groups of settings: the headings under which a form shows them, except for the few that are always shown.
ALWAYS = ""
SWEEPS, STEP_SIZES, PRIORS = "Mini-batches and sweeps", "Steps of the topics", "Priors"
ENCODER, WIDTHS = "Encoder", "Learning the widths"
LABELS, PREDICTIONS = "Learning from labels", "Predictions"


class Setting(NamedTuple):
    """One field of a Config, as a form or a command line shows it."""

    name: str
    kind: str  # "integer", "number", "choice", "flag", "widths", "numbers"
    default: Any
    label: str
    help: str
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    group: str  # one of the headings above, or ALWAYS


class SettingError(ValueError):
    """A setting has a value that is not allowed; the message is one sentence for the user."""


def setting(
    default: Any,
    group: str,
    label: str,
    help: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """Return a dataclass field that describes itself to a form; arguments as in :class:`Setting`."""
    about = {"label": label, "help": help, "low": low, "high": high, "choices": choices, "group": group}
    return dataclasses.field(default=default, metadata=about)


def describe(config: type[Any]) -> tuple[Setting, ...]:
    """Return every setting of a Config class, in the order of its fields."""
    hints = typing.get_type_hints(config)
    return tuple(
        Setting(field.name, _find_kind(hints[field.name], field.metadata["choices"]), field.default, **field.metadata)
        for field in dataclasses.fields(config)
    )


def check(config: Any) -> None:
    """Raise SettingError for the first field outside its bounds or choices."""
    for about in describe(type(config)):
        value = getattr(config, about.name)
        if about.kind == "choice":
            if value not in about.choices:
                raise SettingError(f"{about.name} must be one of {', '.join(about.choices)}; got {value!r}")
            continue
        if about.kind == "flag":
            if not isinstance(value, bool):
                raise SettingError(f"{about.name} must be true or false; got {value!r}")
            continue
        many = about.kind in ("widths", "numbers")
        if many and not (isinstance(value, tuple) and value):
            raise SettingError(f"{about.name} must be a list of numbers; got {value!r}")
        for item in value if many else (value,):
            _check_number(about, item)


def parse(config: type[Any], texts: dict[str, str]) -> Any:
    """Return a Config made from ``{"layers": "128-64-32", "eta": "0.05"}``; settings not named keep their defaults."""
    settings = {about.name: about for about in describe(config)}
    values: dict[str, Any] = {}
    for name, text in texts.items():
        if name not in settings:
            raise SettingError(f"there is no setting {name!r}; the settings are {', '.join(settings)}")
        values[name] = _read_value(settings[name], text)
    return config(**values)


def to_json(config: Any) -> dict[str, Any]:
    """Return the settings as plain JSON values (tuples become lists)."""
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in dataclasses.asdict(config).items()
    }


def from_json(config: type[Any], values: dict[str, Any]) -> Any:
    """Return the Config that :func:`to_json` wrote.

    Raises
    ------
    SettingError
        If these are no settings of the model.
    """
    names = [field.name for field in dataclasses.fields(config)]
    unknown = sorted(values.keys() - set(names))
    if unknown:
        raise SettingError(
            f"the run was trained with {unknown[0]} = {values[unknown[0]]!r}, a setting that its model does not have "
            "(another version of Topiary made the run, or its row in the store is damaged): its topics can be explored "
            "and exported, but it cannot be resumed, place documents or predict; continue it as a new run, which "
            "trains without"
        )
    if "layers" in names and "layers" not in values:
        raise SettingError("the run does not say how many topics its layers have: its row in the store is damaged")
    return config(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def _find_kind(hint: Any, choices: tuple[str, ...]) -> str:
    if choices:
        return "choice"
    if isinstance(hint, types.GenericAlias):
        return "widths" if typing.get_args(hint)[0] is int else "numbers"
    return {bool: "flag", int: "integer", float: "number"}[hint]


def _check_number(about: Setting, value: Any) -> None:
    is_whole = about.kind in ("integer", "widths")
    if isinstance(value, bool) or not isinstance(value, int if is_whole else (int, float)):
        raise SettingError(f"{about.name} must be {'a whole number' if is_whole else 'a number'}; got {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingError(f"{about.name} must be a finite number; got {value!r}")
    if about.low is not None and value < about.low:
        raise SettingError(f"{about.name} must be at least {about.low:,.10g}; got {value!r}")
    if about.high is not None and value > about.high:
        raise SettingError(f"{about.name} must be at most {about.high:,.10g}; got {value!r}")


def _read_value(about: Setting, text: str) -> Any:
    text = str(text).strip()
    try:
        match about.kind:
            case "choice":
                return text
            case "flag":
                return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text.lower()]
            case "integer":
                return int(text)
            case "widths":
                return tuple(int(part) for part in text.replace(",", "-").split("-"))
            case "numbers":
                return tuple(float(part) for part in text.split(","))
            case _:
                return float(text)
    except (ValueError, KeyError):
        raise SettingError(f"{about.name} cannot be read from {text!r}: {about.help}") from None
