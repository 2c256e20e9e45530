"""The table that compares many runs: what differs in their settings, and how good they are."""

import json
import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from topiary.app.jobs.estimates import Estimate
from topiary.app.jobs.plan import STEPS, name_step
from topiary.app.names import name_inference, name_model
from topiary.app.views.html import render
from topiary.app.views.markup import name_run
from topiary.app.views.run_facts import RunFacts, format_estimate, format_span
from topiary.app.views.runs.new_run_form import describe_setting, format_value

NONE = "–"
_NPMI_TIP = "Mean coherence (NPMI) of the topics of this layer with at least 0.1 % of the words; higher is better"
_ESTIMATE_TIP = "How well the run predicts held-out words; estimates of other kinds, in other columns, do not compare"


class TableRun(NamedTuple):
    """A run in the table.

    Attributes
    ----------
    state : str
        The state to show.
    estimate : Estimate or None
        The estimate that represents it.
    npmi : sequence of float
        Mean NPMI of its layers, the layer next to the words first; empty if it is not stored.
    """

    run: RunFacts
    state: str
    estimate: Estimate | None
    npmi: Sequence[float] = ()


def draw_run_table(rows: Sequence[TableRun], *, waiting: bool) -> str:
    """Return the table, a run in each row; ``waiting`` says that coherences are still being read."""
    differing = list_differing([row.run for row in rows])
    layers = max((len(row.npmi) for row in rows), default=0)
    kinds = list(dict.fromkeys(row.estimate.name for row in rows if row.estimate is not None))
    titles = [
        ("Run", ""),
        ("State", ""),
        *((label, tip) for label, tip, _ in differing),
        *((name.capitalize(), _ESTIMATE_TIP) for name in kinds),
        *((f"NPMI, layer {layer}", _NPMI_TIP) for layer in range(1, layers + 1)),
        ("Length", "Steps made"),
        ("Time", "Time of training"),
    ]
    body = [
        SimpleNamespace(
            run=row.run,
            name=name_run(row.run),
            state=row.state,
            cells=_list_cells(row, [values[place] for _, _, values in differing], kinds, layers, best=best),
        )
        for place, (row, best) in enumerate(zip(rows, _find_best(rows), strict=True))
    ]
    notes = (
        ["Settings that are the same in all of these runs are left out."]
        if differing
        else ["These runs do not differ in any setting."]
    )
    if len({row.run.corpus_name for row in rows}) > 1:
        notes.append("Perplexities of different corpora do not compare.")
    if waiting:
        notes.append("Coherences are being read …")
    return render("runs.table", titles, body, notes)


def list_differing(runs: Sequence[RunFacts]) -> list[tuple[str, str, list[str]]]:
    """Return what differs among runs: its label, its meaning, and the value of each run as text.

    A setting that only some models have counts if the runs that have it differ.
    """
    own: list[tuple[str, str, list[str]]] = [
        ("Corpus", "", [run.corpus_name for run in runs]),
        ("Model", "", [name_model(run.model) for run in runs]),
        ("Inference", "", [name_inference(run.model, run.inference) or NONE for run in runs]),
        (
            "Topics per layer",
            "From the layer next to the words upwards",
            ["-".join(map(str, run.layers)) for run in runs],
        ),
        ("Seed", "", [str(run.seed) for run in runs]),
    ]
    found = [row for row in own if len(set(row[2])) > 1]
    names = dict.fromkeys(name for run in runs for name in run.settings if name not in ("layers", "inference"))
    for name in names:
        values = [run.settings[name] for run in runs if name in run.settings]
        if len({json.dumps(value, sort_keys=True) for value in values}) > 1:
            owner = next(run.model for run in runs if name in run.settings)
            label, tip = describe_setting(owner, name)
            found.append((label, tip, [_format_setting(run.settings, name) for run in runs]))
    return found


def _format_setting(settings: Mapping[str, Any], name: str) -> str:
    return format_value(settings[name]) if name in settings else NONE


def _find_best(rows: Sequence[TableRun]) -> list[bool]:
    """Return for each run whether its estimate is the best of those with the same name on the same corpus."""
    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.estimate is not None:
            groups.setdefault((row.run.corpus_name, row.estimate.name), []).append(_rank(row.estimate))
    return [
        row.estimate is not None
        and len(group := groups[row.run.corpus_name, row.estimate.name]) > 1
        and _rank(row.estimate) == min(group)
        for row in rows
    ]


def _rank(estimate: Estimate) -> float:
    return estimate.value if estimate.lower_is_better else -estimate.value


def _list_cells(
    row: TableRun, settings: Sequence[str], kinds: Sequence[str], layers: int, *, best: bool
) -> list[tuple[str, bool]]:
    """Return the cells after the state, each with whether it is the best of its column."""
    run, own = row.run, "" if row.estimate is None else row.estimate.name
    npmi = [f"{value:.3f}" if math.isfinite(value) else NONE for value in row.npmi]
    rest = [
        *npmi,
        *[NONE] * (layers - len(npmi)),
        f"{run.minibatch:,} {STEPS[name_step(run)]}",
        format_span(run.seconds) if run.seconds else NONE,
    ]
    return [
        *((setting, False) for setting in settings),
        *((format_estimate(row.estimate), best) if kind == own else (NONE, False) for kind in kinds),
        *((cell, False) for cell in rest),
    ]
