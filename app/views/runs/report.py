"""What came in, as HTML: the report before an import, and the record of a corpus."""

from collections.abc import Sequence
from html import escape

from app.ingest.report.report import Report, list_columns, list_cuts, list_lines, summarise_report
from app.views.markup import attributes, element
from app.views.runs.new_run_form import by_field
from app.views.text import end_sentence

_OF_NEW = ("parts", "kept", "chosen")  # lines about a corpus that is new


def report_view(report: Report, labels: dict[str, str] | None = None, *, vocabulary: bool = True) -> str:
    """The whole report.

    Parameters
    ----------
    report : Report
    labels : dict of str, optional
        What the form that stands beside it calls the options; without one they are named as they are typed.
    vocabulary : bool
        Whether a vocabulary is made of it; documents that are appended are counted over one that is there.
    """
    facts = "".join(
        f"<div><dt>{escape(line.name)}</dt><dd>{escape(by_field(line.said, labels or {}))}</dd></div>"
        for line in list_lines(report)
        if vocabulary or line.name not in _OF_NEW
    )
    columns = _table("Columns", ("column", "role", "values"), list_columns(report))
    taken = [(_cut_name(row, labels), row[2], row[3]) for row in list_cuts(report)]
    cuts = _table("What is left out of the vocabulary", ("what", "how much", "for example"), taken * vocabulary)
    return f'<div class="tp-report">{warnings(report, labels)}<dl>{facts}</dl>{columns}{cuts}</div>'


def warnings(report: Report, labels: dict[str, str] | None = None) -> str:
    """The warnings as a list, or nothing; options are called as by ``labels``, where there are some."""
    named = [by_field(warning, labels or {}) for warning in report.warnings]
    found = "".join(f"<li>{escape(end_sentence(said[:1].upper() + said[1:]))}</li>" for said in named)
    return f'<ul class="tp-warnings" aria-label="Warnings">{found}</ul>' if found else ""


def summary(report: Report) -> str:
    """The report in five lines, the warnings first."""
    said = "".join(f"<li>{escape(end_sentence(line[:1].upper() + line[1:]))}</li>" for line in summarise_report(report))
    return f'{warnings(report)}<ul class="tp-notes">{said}</ul>'


def folded(report: Report, number: int, added: Sequence[str] = ()) -> str:
    """The record of corpus ``number`` under a heading that opens it; ``added`` says what was appended since."""
    more = "".join(f"<li>{escape(line)}</li>" for line in added)
    appended = f'<ul class="tp-notes" aria-label="Appended">{more}</ul>' if more else ""
    about = attributes(data_key=f"record{number}")
    return f"<details{about}><summary>How it was read</summary>{report_view(report)}{appended}</details>"


def _cut_name(row: tuple[str, str, str, str], labels: dict[str, str] | None) -> str:
    what, option, _, _ = row
    setting = option.partition(" ")
    named = by_field(setting[0], labels) if labels else setting[0]
    return f"{what} ({named.strip('“”')} {setting[2]})"


def _table(name: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    top = "".join(element("th", escape(head), scope="col") for head in heads)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"
    about = attributes(class_="tp-report-scroll", tabindex="0", role="region", aria_label=name)
    return f"<h4>{escape(name)}</h4><div{about}>{table}</div>"
