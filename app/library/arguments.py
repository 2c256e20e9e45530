"""What people give to the library, as the app takes it: settings, lengths of a run, names of topics."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from app.analysis.hierarchy import Hierarchy, parse_identity
from app.jobs import launcher
from app.jobs.forks import format_default
from app.jobs.run_rules import NewRunError
from engine.hierarchy.tree import Node

Roots: TypeAlias = int | str | Iterable[int | str]


BESIDE = {  # what a run is ordered with beside the model and its settings, by the names of `Store.train`
    "minibatches": None, "preset": "", "seed": 1, "threads": None, "averaged": False, "averaged_burn_in": None,
    "averaged_samples": None, "paper_point": False, "on": "", "name": "",
}  # fmt: skip


def settings_as_text(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings as somebody would type them; those that are None are left out."""
    return {name: format_default(_plain(value)) for name, value in settings.items() if value is not None}


def asked(**given: Any) -> dict[str, Any]:
    """What a new run and a fork are ordered with, beside the model and its settings.

    Raises
    ------
    NewRunError
        When a length of the averaged protocol is given where that is not asked for.
    """
    alone = [name for name in ("burn_in", "samples") if given[name] is not None]
    if alone and not given["averaged"]:
        named = " and ".join(f"averaged_{name}" for name in alone)
        raise NewRunError(f"{named} without averaged would change nothing; give averaged=True too")
    plain = {name: _plain(value) for name, value in given.items()}
    return plain | {"threads": launcher.choose_threads() if plain["threads"] is None else plain["threads"]}


def apart(given: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Arguments as :meth:`Store.train` takes them: the settings of the model as texts, and what :func:`asked` makes.

    Raises
    ------
    NewRunError
        As :func:`asked`.
    """
    texts = settings_as_text({name: value for name, value in given.items() if name not in BESIDE})
    beside = {name.removeprefix("averaged_"): given.get(name, usual) for name, usual in BESIDE.items()}
    return texts, asked(**beside)


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's; lists as tuples."""
    found = value.tolist() if hasattr(value, "tolist") else value
    return tuple(map(_plain, found)) if isinstance(found, list | tuple) else found


def nodes_of(hierarchy: Hierarchy, roots: Roots | None, layer: int | None) -> tuple[Node, ...]:
    """The topics that ranks and names mean."""
    where = hierarchy.n_layers if layer is None else layer
    if roots is None:
        hierarchy.at_rank(where, 1)
        return tuple(hierarchy.nodes(where))
    named = [roots] if isinstance(roots, int | str) else list(roots)
    return tuple(_node(hierarchy, where, root) for root in named)


def _node(hierarchy: Hierarchy, layer: int, root: int | str) -> Node:
    if not isinstance(root, str):
        return hierarchy.at_rank(layer, int(root))
    node = parse_identity(root)
    if node is None or not hierarchy.has(node):
        raise LookupError(f"run {hierarchy.run} has no topic {root!r}; topics() lists them, as in 'L1:3'")
    return node
