"""The settings of two runs side by side; those that are the same are hidden until asked for."""

import re
from collections.abc import Mapping
from html import escape
from typing import NamedTuple

from app.jobs.estimates import LOGLIK, NAMES, estimates, protocol_of
from app.views.markup import element
from app.views.run_facts import RunFacts, figure
from app.views.runs.setting_names import Report, report, value_words
from app.views.words import inference, model, span

_LONGEST = 14  # letters of a word that the column has room for
_KINDS = {name: kind for kind, name in (NAMES | LOGLIK).items()}  # what an estimate is called, and its curve
Latest = Mapping[str, float | None]
_NONE: tuple[Latest, Latest] = ({}, {})


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


def settings_of(a: RunFacts, b: RunFacts, latest: tuple[Latest, Latest] = _NONE) -> list[Setting]:
    """List every setting of either run, what they are first.

    ``latest`` are the newest values of the curves of both that `app.jobs.estimates` reads.
    """
    one, two = _facts(a, latest[0]), _facts(b, latest[1])
    return [
        Setting(name, one.get(name, "–"), two.get(name, "–"), _report(a, b, name))
        for name in dict.fromkeys((*one, *two))
    ]


def settings_table(a: RunFacts, b: RunFacts, latest: tuple[Latest, Latest] = _NONE, *, identical: bool) -> str:
    """Write the table and the switch that shows the settings that do not differ.

    Parameters
    ----------
    a, b : RunFacts
    latest : pair of mappings
        As of `settings_of`.
    identical : bool
        Whether settings that do not differ are shown.
    """
    every = settings_of(a, b, latest)
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


def _report(a: RunFacts, b: RunFacts, name: str) -> Report:
    if name in a.settings or name in b.settings:
        return report((a if name in a.settings else b).model, name)
    if name not in _KINDS:
        return Report(name.capitalize(), "")
    one, two = protocol_of(a, _KINDS[name]), protocol_of(b, _KINDS[name])
    return Report(name.capitalize(), f"{one}." if one == two else f"A: {one}. B: {two}.")


def _facts(run: RunFacts, latest: Latest) -> dict[str, str]:
    found = {
        "corpus": run.corpus_name,
        "model": model(run.model),
        "inference": inference(run.model, run.inference) or "the usual one",
        "layers": "-".join(map(str, run.layers)),
        "seed": str(run.seed),
        "mini-batches": f"{run.minibatch:,} of {run.planned:,}",
        "training time": span(run.seconds),
    }
    found |= {each.name: figure(each) for each in estimates(run, latest)}
    report = {name: value_words(value) for name, value in run.settings.items() if name not in ("layers", "inference")}
    return found | report
