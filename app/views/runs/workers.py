"""The workers of a run whose documents are swept on a cluster, as a table."""

from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from typing import Any

from app.jobs.cluster.workers import ClusterFacts, WorkerFacts, of_process
from app.views import words
from app.views.markup import element

HEADS = ("Worker", "Tokens per second", "Memory", "Documents", '<span class="tp-unseen">Lost</span>')
MOST_SHOWN = 100  # workers in the table; the others are counted beneath it


def workers(process: Mapping[str, Any], state: str) -> str:
    """The table, from what the store knows of the process of a run; nothing for a run without workers."""
    facts = of_process(process)
    if not facts.workers:
        return ""
    lost_first = sorted(facts.workers, key=lambda each: each.lost is None)
    heads = "".join(element("th", head, scope="col") for head in HEADS)
    rows = "".join(_row(each) for each in lost_first[:MOST_SHOWN])
    table = element("table", f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody>", aria_labelledby="tp-workers")
    hidden = len(facts.workers) - MOST_SHOWN
    inside = (
        '<h3 id="tp-workers">Workers</h3>',
        _link(facts, state),
        element("div", table, class_="tp-report-scroll", tabindex=0, role="region", aria_labelledby="tp-workers"),
        f'<p class="tp-dim">and {hidden:,} more</p>' if hidden > 0 else "",
    )
    return f'<div class="tp-about tp-alone"><section class="tp-report">{"".join(inside)}</section></div>'


def _link(facts: ClusterFacts, state: str) -> str:
    """What the numbers are of, and the way to Dask's own page while it is there."""
    sentence = "Speed is that of sweeping documents; each worker has these documents and their local variables."
    there = state == "running" and facts.dashboard.startswith(("http://", "https://"))
    about = {"href": facts.dashboard, "target": "_blank", "rel": "noopener noreferrer"}
    link = f" {element('a', 'Dask’s dashboard', **about)} shows what they are doing." if there else ""
    return f'<p class="tp-dim">{sentence}{link}</p>'


def _row(each: WorkerFacts) -> str:
    cells = (
        element("th", _named(each), scope="row"),
        element("td", words.rate(each.tokens_per_second)),
        element("td", _memory(each)),
        element("td", f"{each.documents:,}"),
        element("td", _state(each)),
    )
    return element("tr", "".join(cells), class_="tp-dim" if each.lost is not None else None)


def _named(each: WorkerFacts) -> str:
    """The address, and before it the name where it says something else."""
    address = escape(each.address)
    return address if each.name in ("", each.address) else f"{escape(each.name)} <small>{address}</small>"


def _memory(each: WorkerFacts) -> str:
    limit = f" of {words.size(each.limit)}" if each.limit else ""
    return f"{words.size(each.memory)}{limit}"


def _state(each: WorkerFacts) -> str:
    if each.lost is None:
        return ""
    return f'<b class="tp-warn">lost</b> {datetime.fromtimestamp(each.lost, UTC).astimezone():%d %b %H:%M:%S}'
