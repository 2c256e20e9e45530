"""Settings of a model: dataclass fields with a label, a help text, bounds and choices.

A model's ``Config`` is a frozen, keyword-only dataclass whose fields are made by :func:`setting`.  Its values are
checked on creation (:func:`check` in ``__post_init__``).  The form of a new run is built from its fields
(:func:`describe`), and a Config can be read from text (:func:`parse`).
"""

import dataclasses
import math
import types
import typing
from typing import Any, NamedTuple

# Groups of settings: the headings under which a form shows them; settings of the group ALWAYS are always shown.
ALWAYS = ""
SWEEPS, STEP_SIZES, PRIORS = "Mini-batches and sweeps", "Steps of the topics", "Priors"
ENCODER, WIDTHS = "Encoder", "Learning the widths"
LABELS, PREDICTIONS = "Learning from labels", "Predictions"


class Setting(NamedTuple):
    """A field of a Config, as shown by a form or a command line."""

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
    """Error about a value of a setting that is not allowed; its message is one sentence for the user."""


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
    """Return a dataclass field with what a form needs as its metadata; arguments as in :class:`Setting`."""
    metadata = {"label": label, "help": help, "low": low, "high": high, "choices": choices, "group": group}
    return dataclasses.field(default=default, metadata=metadata)


def describe(config: type[Any]) -> tuple[Setting, ...]:
    """Return every setting of a Config class, in the order of its fields."""
    hints = typing.get_type_hints(config)
    return tuple(
        Setting(field.name, _find_kind(hints[field.name], field.metadata["choices"]), field.default, **field.metadata)
        for field in dataclasses.fields(config)
    )


def check(config: Any) -> None:
    """Raise SettingError for the first field outside its bounds or choices."""
    for spec in describe(type(config)):
        value = getattr(config, spec.name)
        if spec.kind == "choice":
            if value not in spec.choices:
                raise SettingError(f"{spec.name} must be one of {', '.join(spec.choices)}; got {value!r}")
            continue
        if spec.kind == "flag":
            if not isinstance(value, bool):
                raise SettingError(f"{spec.name} must be true or false; got {value!r}")
            continue
        is_list = spec.kind in ("widths", "numbers")
        if is_list and not (isinstance(value, tuple) and value):
            raise SettingError(f"{spec.name} must be a list of numbers; got {value!r}")
        for item in value if is_list else (value,):
            _check_number(spec, item)


def parse(config: type[Any], texts: dict[str, str]) -> Any:
    """Return a Config made from ``{"layers": "128-64-32", "eta": "0.05"}``; settings not named keep their defaults."""
    settings = {spec.name: spec for spec in describe(config)}
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
        If the model does not have these settings.
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
    """Return the kind of a setting (``Setting.kind``) from its type and choices."""
    if choices:
        return "choice"
    if isinstance(hint, types.GenericAlias):
        return "widths" if typing.get_args(hint)[0] is int else "numbers"
    return {bool: "flag", int: "integer", float: "number"}[hint]


def _check_number(spec: Setting, value: Any) -> None:
    """Raise SettingError if a number has the wrong type or is out of bounds."""
    is_whole = spec.kind in ("integer", "widths")
    if isinstance(value, bool) or not isinstance(value, int if is_whole else (int, float)):
        raise SettingError(f"{spec.name} must be {'a whole number' if is_whole else 'a number'}; got {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingError(f"{spec.name} must be a finite number; got {value!r}")
    if spec.low is not None and value < spec.low:
        raise SettingError(f"{spec.name} must be at least {spec.low:,.10g}; got {value!r}")
    if spec.high is not None and value > spec.high:
        raise SettingError(f"{spec.name} must be at most {spec.high:,.10g}; got {value!r}")


def _read_value(spec: Setting, text: str) -> Any:
    """Return the value of a setting read from text; bounds and choices are not checked."""
    text = str(text).strip()
    try:
        match spec.kind:
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
        raise SettingError(f"{spec.name} cannot be read from {text!r}: {spec.help}") from None
