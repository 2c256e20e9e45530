"""The settings of two runs side by side; those that are the same are hidden until asked for."""

import re
from collections.abc import Sequence
from html import escape
from typing import NamedTuple, TypeAlias

from app.views.markup import element
from app.views.run_facts import CURVE, RunFacts, curve_end, last_evaluation
from app.views.runs.setting_names import Report, report, value_words
from app.views.words import model, perplexity, span

Curves: TypeAlias = tuple[Sequence[float], Sequence[float]]
_LONGEST = 14  # letters of a word that the column has room for
_LAST = "perplexity (final)"  # short: the table is narrow
_TIPS = {
    CURVE: "Last point of the curve, on the same held-out documents for every run of a corpus",
    _LAST: "Last evaluation of a finished run, on more documents: it does not compare with a point of a curve",
}


class Setting(NamedTuple):
    """One setting of both runs; "–" where a run has no such setting."""

    name: str
    a: str
    b: str
    report: Report

    @property
    def same(self) -> bool:
        """Whether both have the same."""
        return self.a == self.b


def settings_of(a: RunFacts, b: RunFacts, curves: Curves) -> list[Setting]:
    """List every setting of either run, what they are first."""
    one, two = (_facts(run, curve) for run, curve in zip((a, b), curves, strict=True))
    return [
        Setting(name, one.get(name, "–"), two.get(name, "–"), _report(a if name in a.settings else b, name))
        for name in dict.fromkeys((*one, *two))
    ]


def settings_table(a: RunFacts, b: RunFacts, curves: Curves, *, identical: bool) -> str:
    """Write the table and the switch that shows the settings that do not differ.

    Parameters
    ----------
    a, b : RunFacts
    curves : pair of sequences of float
        Points of the curves of both, the last ones among them.
    identical : bool
        Whether settings that do not differ are shown.
    """
    every = settings_of(a, b, curves)
    shown = [each for each in every if identical or not each.same]
    rows = "".join(_row(each) for each in shown)
    hidden = sum(each.same for each in every)
    switch = element(
        "button",
        f"Hide {hidden} identical" if identical else f"Show {hidden} identical",
        class_="ex-soft",
        data_do="identical",
        aria_pressed=str(identical).lower(),
        title="Settings that are the same in both runs",
    )
    none = "" if shown else '<p class="tp-dim">Nothing differs.</p>'
    names = "".join(
        f'<th scope="col">{word}</th>' for word in ("Setting", f"A · run {a.number}", f"B · run {b.number}")
    )
    head = f"<tr>{names}</tr>"
    return (
        f'<div class="tp-card-head"><h2 class="tp-h2">Settings</h2>{switch}</div>'
        f'<div class="cm-scroll"><table class="cm-table cm-settings"><thead>{head}</thead><tbody>{rows}</tbody></table>'
        f"{none}</div>"
    )


def _row(each: Setting) -> str:
    kind = "" if each.same else " class=cm-differs"
    name = element("th", escape(each.report.label), scope="row", title=each.report.tip or None)
    return f"<tr{kind}>{name}{_value(each.a)}{_value(each.b)}</tr>"


def _value(text: str) -> str:
    """A value; only where a word of it is too long for the column may it be broken within a word."""
    long = any(len(part) > _LONGEST for part in re.split(r"[\s-]+", text))
    return element("td", escape(text), class_="cm-long" if long else None)


def _report(run: RunFacts, name: str) -> Report:
    return report(run.model, name) if name in run.settings else Report(name.capitalize(), _TIPS.get(name, ""))


def _facts(run: RunFacts, curve: Sequence[float]) -> dict[str, str]:
    found = {
        "corpus": run.corpus_name,
        "model": model(run.model),
        "inference": run.inference,
        "layers": "-".join(map(str, run.layers)),
        "seed": str(run.seed),
        "mini-batches": f"{run.minibatch:,} of {run.planned:,}",
        "training time": span(run.seconds),
        CURVE: perplexity(curve_end(run, curve)),
        _LAST: perplexity(last_evaluation(run)),
        "averaged perplexity": perplexity(run.averaged_perplexity),
    }
    report = {name: value_words(value) for name, value in run.settings.items() if name not in ("layers", "inference")}
    return found | report
