"""The top of the compare page: the two runs, their settings, and their coherence by layer."""

import math
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import NamedTuple

from topiary.app.analysis.comparison import Comparison
from topiary.app.analysis.hierarchy import measure_coherence
from topiary.app.analysis.seeds import SeedSpread, get_layer_value
from topiary.app.jobs.estimates import KINDS, describe_estimate, list_estimates
from topiary.app.names import STEPS, name_inference, name_model, name_step
from topiary.app.views.explore.controls import SnapshotOption, draw_threshold_slider
from topiary.app.views.html import render
from topiary.app.views.markup import list_run_entries
from topiary.app.views.runs.new_run_form import SettingText, describe_setting, format_value
from topiary.app.views.text import format_estimate, format_span
from topiary.engine.quality.measures import Coherence
from topiary.store.run_rows import RunRow

SAVES = (
    ("svg", "Trees (SVG)"),
    ("png", "Trees (PNG)"),
    ("topics.csv", "Topics (CSV)"),
    ("edges.csv", "Edges (CSV)"),
    ("json", "Everything (JSON)"),
)


class ComparedRun(NamedTuple):
    """One side of a comparison: its run (or None), its snapshots, oldest first, and the chosen one (0 = live).

    ``live`` is the mini-batch of the newest topics, None if it is not known.
    """

    run: RunRow | None
    moments: Sequence[SnapshotOption]
    pinned: int
    live: int | None


class HeadFacts(NamedTuple):
    """What the top of the page says, and what its menu has chosen.

    Attributes
    ----------
    sentence : str
        The sentence that answers, as HTML.
    yardsticks : sequence of str
        With what its figures are to be compared.
    doubt : (str, str, str)
        From `describe_doubt`.
    chooser : str
        The choice of a class, as HTML.
    n_layers, layer : int
        Layers that have parents, and that whose topics are looked at for other parents.
    whole, rooted : bool
        Whether everything is shown, and whether roots were chosen by hand.
    """

    threshold: float
    sentence: str = ""
    yardsticks: Sequence[str] = ()
    doubt: tuple[str, str, str] = ("", "", "")
    chooser: str = ""
    n_layers: int = 0
    layer: int = 0
    whole: bool = False
    rooted: bool = False


def draw_head(a: ComparedRun, b: ComparedRun, everyone: Sequence[RunRow], facts: HeadFacts, *, ready: bool) -> str:
    """Return the sentence and the row of choices; it offers files to save if ``ready``: if there is a comparison."""
    ends = [_describe_end(side, compared, everyone) for side, compared in (("a", a), ("b", b))]
    saves = (("", "Save"), *SAVES) if ready else ()
    layers = [(layer, f"Parents of layer {layer}") for layer in range(facts.n_layers, 0, -1)]
    return render("compare.head", ends, facts, layers, draw_threshold_slider(facts.threshold), saves)


def draw_status(sentence: str, *, busy: bool) -> str:
    """Return the sentence about work in progress or an error, for screen readers too."""
    return render("compare.status", sentence, busy)


def _describe_end(side: str, compared: ComparedRun, everyone: Sequence[RunRow]) -> SimpleNamespace:
    """Return the choices of a run and of its snapshot on one side."""
    runs: list[tuple[object, str]] = [*list_run_entries(everyone)]
    chosen = next((row.number for row in everyone if compared.run and row.number == compared.run.number), "")
    if not chosen:
        runs.insert(0, ("", "Choose a run"))
    newest = "Latest" if compared.live is None else f"Latest · {compared.live:,}"
    older = ((snapshot.number, f"Mini-batch {snapshot.minibatch:,}") for snapshot in reversed(compared.moments))
    return SimpleNamespace(
        side=side,
        hint="what it is compared with" if side == "a" else "what is looked at",
        runs=runs,
        run=chosen,
        snapshots=[(0, newest), *older],
        pinned=compared.pinned,
    )


_NAMED = 4  # settings that differ, named while the table is folded
Latest = Mapping[str, float | None]
_NO_VALUES: tuple[Latest, Latest] = ({}, {})


class SettingPair(NamedTuple):
    """One setting of both runs; "–" for a run without such a setting."""

    name: str
    a: str
    b: str
    report: SettingText

    @property
    def same(self) -> bool:
        """True if both runs have the same value."""
        return self.a == self.b


def pair_settings(a: RunRow, b: RunRow, latest: tuple[Latest, Latest] = _NO_VALUES) -> list[SettingPair]:
    """Return every setting of either run, model and inference first.

    ``latest`` holds the newest curve values of each run, as `app.jobs.estimates` reads them.
    """
    facts_a, facts_b = _list_facts(a, latest[0]), _list_facts(b, latest[1])
    return [
        SettingPair(name, facts_a.get(name, "–"), facts_b.get(name, "–"), _describe_setting(a, b, name))
        for name in dict.fromkeys((*facts_a, *facts_b))
    ]


def draw_settings(a: RunRow, b: RunRow, latest: tuple[Latest, Latest] = _NO_VALUES, *, identical: bool) -> str:
    """Return the table of settings, and a button that shows or hides those that do not differ.

    Parameters
    ----------
    latest : pair of mappings
        As in `pair_settings`.
    identical : bool
        Whether settings that do not differ are shown.
    """
    pairs = pair_settings(a, b, latest)
    visible = [pair for pair in pairs if identical or not pair.same]
    hidden = sum(pair.same for pair in pairs)
    return render("compare.settings", a.number, b.number, visible, hidden, identical, _name_differences(pairs))


def _name_differences(pairs: Sequence[SettingPair]) -> str:
    """Return how many settings differ, and the names of the first; what came of them is left out."""
    names = [pair.report.label for pair in pairs if not pair.same and pair.name not in (*KINDS, "training time")]
    if not names:
        return "none differs"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{len(names)} {'differs' if len(names) == 1 else 'differ'}: {', '.join(names[:_NAMED])}{more}"


def _describe_setting(a: RunRow, b: RunRow, name: str) -> SettingText:
    if name in a.settings or name in b.settings:
        return describe_setting((a if name in a.settings else b).model, name)
    if name not in KINDS:
        return SettingText(name.capitalize(), "")
    meaning_a, meaning_b = describe_estimate(a, KINDS[name]), describe_estimate(b, KINDS[name])
    return SettingText(
        name.capitalize(), f"{meaning_a}." if meaning_a == meaning_b else f"A: {meaning_a}. B: {meaning_b}."
    )


def _list_facts(run: RunRow, latest: Latest) -> dict[str, str]:
    facts = {
        "corpus": run.corpus_name,
        "model": name_model(run.model),
        "inference": name_inference(run.model, run.inference) or "the usual one",
        "layers": "-".join(map(str, run.layers)),
        "seed": str(run.seed),
        STEPS[name_step(run)]: f"{run.minibatch:,} of {run.planned:,}",
        "training time": format_span(run.seconds),
    }
    facts |= {each.name: format_estimate(each) for each in list_estimates(run, latest)}
    values = {name: format_value(value) for name, value in run.settings.items() if name not in ("layers", "inference")}
    return facts | values


_OptionalCoherence = Coherence | None
_COLUMNS: tuple[tuple[str, str, Callable[[Coherence], float]], ...] = (
    (
        "NPMI",
        "How often the first ten words of a topic meet in training documents: 1 always, 0 as by chance, -1 never; "
        "mean over the live topics",
        lambda each: each.mean_npmi,
    ),
    ("Worst tenth", "NPMI of the tenth of the live topics where it is lowest", lambda each: each.worst_tenth),
    (
        "Diversity",
        "Distinct words among the first ten of the live topics: 1 when no two topics share a word",
        lambda each: each.diversity,
    ),
)


def draw_coherence(comparison: Comparison, spread: SeedSpread | None = None) -> str:
    """Return the coherence of both runs as a table, the top layer first; empty if neither snapshot has any.

    The better figure is bold if the two differ by more than two seeds of one model do (``spread``); without a second
    seed, no figure is bold.
    """
    a, b = measure_coherence(comparison.a), measure_coherence(comparison.b)
    depth = max(len(a), len(b))
    if not depth:
        return ""
    rows = [
        (
            layer,
            _list_figures(get_layer_value(a, layer - 1), get_layer_value(b, layer - 1), _find_seed_gaps(spread, layer)),
        )
        for layer in range(depth, 0, -1)
    ]
    same = comparison.a.corpus == comparison.b.corpus
    sentence = ("" if spread is None else _BOLD) if same else "The two corpora differ: these figures do not compare."
    return render("compare.coherence", _COLUMNS, rows, sentence)


_OF_RUN = "Of the live topics of the layer; the head of the column says what"
_BOLD = "Bold: better by more than two seeds of one model differ."


def _find_seed_gaps(spread: SeedSpread | None, layer: int) -> tuple[float, ...]:
    """Return the largest difference between two seeds for each column; infinite if it is not known."""
    if spread is None or layer > len(spread.gaps):
        return (math.inf,) * len(_COLUMNS)
    return tuple(gap if math.isfinite(gap) else math.inf for gap in spread.gaps[layer - 1])


def _list_figures(a: _OptionalCoherence, b: _OptionalCoherence, gaps: tuple[float, ...]) -> list[tuple[str, bool, str]]:
    """Return the figures of a layer, A and B in turn: as text, whether it is the better one, and what it is."""
    figures = []
    for (_, _, figure), gap in zip(_COLUMNS, gaps, strict=True):
        values = [math.nan if each is None else figure(each) for each in (a, b)]
        best = max((value for value in values if math.isfinite(value)), default=math.nan)
        tied = f"{values[0]:.3f}" == f"{values[1]:.3f}" or not abs(values[0] - values[1]) > gap
        tip = _OF_RUN if math.isinf(gap) else f"{_OF_RUN}; two seeds of one model differ by up to {gap:.3f}"
        for value in values:
            text = f"{value:.3f}".replace("-", "−") if math.isfinite(value) else ""
            figures.append((text, value == best and not tied, tip))
    return figures
