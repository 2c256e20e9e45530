"""The top of the compare page: the two runs, their settings, and their coherence by layer."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from topiary.app.analysis.comparison import Comparison, Side
from topiary.app.analysis.hierarchy import measure_coherence
from topiary.app.analysis.seeds import SeedSpread, get_layer_value
from topiary.app.jobs.estimates import KINDS, describe_estimate, list_estimates
from topiary.app.jobs.plan import STEPS, name_step
from topiary.app.names import name_inference, name_model
from topiary.app.views.explore.controls import SnapshotOption, draw_threshold_slider
from topiary.app.views.markup import draw_icon, draw_select, list_run_entries, write_element
from topiary.app.views.palette import declare_hue
from topiary.app.views.run_facts import RunFacts, format_estimate, format_span
from topiary.app.views.runs.new_run_form import SettingText, describe_setting, format_value
from topiary.app.views.text import escape
from topiary.engine.quality.measures import Coherence

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

    run: RunFacts | None
    moments: Sequence[SnapshotOption]
    pinned: int
    live: int | None


def draw_head(a: ComparedRun, b: ComparedRun, everyone: Sequence[RunFacts], threshold: float, *, ready: bool) -> str:
    """Return the row of choices; it offers files to save if ``ready``, that is, if there is a comparison."""
    swap = write_element(
        "button",
        draw_icon("swap"),
        class_="ex-soft cm-swap",
        data_do="swap",
        title="Swap A and B",
        aria_label="Swap A and B",
    )
    pieces = [
        '<h1 class="cm-title">Compare</h1>',
        _draw_run_choice("a", a, everyone),
        swap,
        _draw_run_choice("b", b, everyone),
        draw_threshold_slider(threshold),
        _draw_saving() if ready else "",
    ]
    return f'<div class="cm-head">{"".join(pieces)}</div>'


def draw_status(sentence: str, *, busy: bool) -> str:
    """Return the sentence about work in progress or an error, for screen readers too."""
    if not sentence:
        return '<div role="status"></div>'
    kind = ' class="cm-wait cm-busy"' if busy else ' class="cm-wait"'
    return f'<div role="status"><p{kind}>{escape(sentence)}</p></div>'


def _draw_run_choice(side: Side, compared: ComparedRun, runs: Sequence[RunFacts]) -> str:
    upper = side.upper()
    hint = "what it is compared with" if side == "a" else "what is looked at"
    entries: list[tuple[object, str]] = [*list_run_entries(runs)]
    chosen = next((row.number for row in runs if compared.run is not None and row.number == compared.run.number), "")
    if not chosen:
        entries.insert(0, ("", "Choose a run"))
    run = draw_select(f"run-{side}", entries, chosen, f"Run {upper}", f"{upper}: {hint}")
    return (
        f'<div class="cm-end"><b class="cm-tag cm-{side}" title="{hint}">'
        f"{upper}</b>{run}{_draw_snapshot_choice(side, compared)}</div>"
    )


def _draw_snapshot_choice(side: Side, compared: ComparedRun) -> str:
    newest = "Latest" if compared.live is None else f"Latest · {compared.live:,}"
    entries = [
        (0, newest),
        *((snapshot.number, f"Mini-batch {snapshot.minibatch:,}") for snapshot in reversed(compared.moments)),
    ]
    label, hint = f"Snapshot of {side.upper()}", "Which snapshot; Latest follows the training"
    return draw_select(f"snapshot-{side}", entries, compared.pinned, label, hint)


def _draw_saving() -> str:
    hint = "Save both trees as a picture, or the matching and the edge changes as a table"
    return draw_select("save", (("", "Save as …"), *SAVES), "", "Save the comparison as", hint, again=True)


_NAMED = 4  # settings that differ, named while the table is folded
_LONGEST_WORD = 14  # letters of the longest word that fits into the column
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


def pair_settings(a: RunFacts, b: RunFacts, latest: tuple[Latest, Latest] = _NO_VALUES) -> list[SettingPair]:
    """Return every setting of either run, model and inference first.

    ``latest`` holds the newest curve values of each run, as `app.jobs.estimates` reads them.
    """
    facts_a, facts_b = _list_facts(a, latest[0]), _list_facts(b, latest[1])
    return [
        SettingPair(name, facts_a.get(name, "–"), facts_b.get(name, "–"), _describe_setting(a, b, name))
        for name in dict.fromkeys((*facts_a, *facts_b))
    ]


def draw_settings(a: RunFacts, b: RunFacts, latest: tuple[Latest, Latest] = _NO_VALUES, *, identical: bool) -> str:
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
    rows = "".join(_draw_setting(pair) for pair in visible)
    hidden = sum(pair.same for pair in pairs)
    switch = write_element(
        "button",
        f"Hide {hidden} identical" if identical else f"Show {hidden} identical",
        class_="ex-soft",
        data_do="identical",
        aria_pressed=str(identical).lower(),
        title="Settings that are the same in both runs",
    )
    empty_note = "" if visible else '<p class="tp-dim">Nothing differs.</p>'
    headings = "".join(
        f'<th scope="col">{word}</th>' for word in ("Setting", f"A · run {a.number}", f"B · run {b.number}")
    )
    head = f"<tr>{headings}</tr>"
    return (
        f'<details class="cm-fold"><summary><h2 class="tp-h2">Settings</h2>'
        f'<span class="tp-dim">{_name_differences(pairs)}</span></summary>'
        f'<div class="cm-scroll"><table class="cm-table cm-settings"><thead>{head}</thead><tbody>{rows}</tbody></table>'
        f"{empty_note}{switch}</div></details>"
    )


def _name_differences(pairs: Sequence[SettingPair]) -> str:
    """Return how many settings differ, and the names of the first; what came of them is left out."""
    names = [pair.report.label for pair in pairs if not pair.same and pair.name not in (*KINDS, "training time")]
    if not names:
        return "none differs"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return escape(f"{len(names)} {'differs' if len(names) == 1 else 'differ'}: {', '.join(names[:_NAMED])}{more}")


def _draw_setting(pair: SettingPair) -> str:
    kind = "" if pair.same else " class=cm-differs"
    name = write_element("th", escape(pair.report.label), scope="row", title=pair.report.tip or None)
    return f"<tr{kind}>{name}{_draw_value(pair.a)}{_draw_value(pair.b)}</tr>"


def _draw_value(text: str) -> str:
    """Return a value as HTML; it is broken within a word only if a word is too long for the column."""
    long = any(len(part) > _LONGEST_WORD for part in re.split(r"[\s-]+", text))
    return write_element("td", escape(text), class_="cm-long" if long else None)


def _describe_setting(a: RunFacts, b: RunFacts, name: str) -> SettingText:
    if name in a.settings or name in b.settings:
        return describe_setting((a if name in a.settings else b).model, name)
    if name not in KINDS:
        return SettingText(name.capitalize(), "")
    meaning_a, meaning_b = describe_estimate(a, KINDS[name]), describe_estimate(b, KINDS[name])
    return SettingText(
        name.capitalize(), f"{meaning_a}." if meaning_a == meaning_b else f"A: {meaning_a}. B: {meaning_b}."
    )


def _list_facts(run: RunFacts, latest: Latest) -> dict[str, str]:
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
    heads = "".join(f'<th scope="col" colspan="2" title="{tip}">{name}</th>' for name, tip, _ in _COLUMNS)
    sides = '<th scope="col">A</th><th scope="col">B</th>' * len(_COLUMNS)
    rows = "".join(
        _draw_coherence_row(
            layer, get_layer_value(a, layer - 1), get_layer_value(b, layer - 1), _find_seed_gaps(spread, layer)
        )
        for layer in range(depth, 0, -1)
    )
    same = comparison.a.corpus == comparison.b.corpus
    sentence = ("" if spread is None else _BOLD) if same else "The two corpora differ: these figures do not compare."
    sentence = f'<p class="tp-dim">{sentence}</p>' if sentence else ""
    return (
        '<div class="cm-quality"><table aria-label="Coherence and diversity of the live topics">'
        f'<thead><tr><th scope="col" rowspan="2">Live topics</th>{heads}</tr><tr>{sides}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{sentence}"
    )


_OF_RUN = "Of the live topics of the layer; the head of the column says what"
_BOLD = "Bold: better by more than two seeds of one model differ."


def _find_seed_gaps(spread: SeedSpread | None, layer: int) -> tuple[float, ...]:
    """Return the largest difference between two seeds for each column; infinite if it is not known."""
    if spread is None or layer > len(spread.gaps):
        return (math.inf,) * len(_COLUMNS)
    return tuple(gap if math.isfinite(gap) else math.inf for gap in spread.gaps[layer - 1])


def _draw_coherence_row(layer: int, a: _OptionalCoherence, b: _OptionalCoherence, gaps: tuple[float, ...]) -> str:
    cells = "".join(
        _draw_coherence_cells(figure, a, b, gap) for (_, _, figure), gap in zip(_COLUMNS, gaps, strict=True)
    )
    return f'<tr><th scope="row"><i class="cm-dot" style="{declare_hue(layer)}"></i>Layer {layer}</th>{cells}</tr>'


def _draw_coherence_cells(
    figure: Callable[[Coherence], float], a: _OptionalCoherence, b: _OptionalCoherence, gap: float
) -> str:
    values = [math.nan if each is None else figure(each) for each in (a, b)]
    best = max((value for value in values if math.isfinite(value)), default=math.nan)
    tied = f"{values[0]:.3f}" == f"{values[1]:.3f}" or not abs(values[0] - values[1]) > gap
    tip = _OF_RUN if math.isinf(gap) else f"{_OF_RUN}; two seeds of one model differ by up to {gap:.3f}"
    return "".join(
        write_element("td", _format_coherence(value, best=value == best and not tied), title=tip) for value in values
    )


def _format_coherence(value: float, *, best: bool) -> str:
    if not math.isfinite(value):
        return '<span class="tp-dim">–</span>'
    written = f"{value:.3f}".replace("-", "\u2212")
    return f"<b>{written}</b>" if best else written
