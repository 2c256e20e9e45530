"""How quickly filters, topics over time and by group, tables and the map answer on many documents and 224 topics.

A store of so many documents, with texts, columns and shares, is made in a folder unless it is there.  Everything is
computed as the pages do, up to their HTML, in one thread.  Each figure is the median of several rounds, each with
another filter, so that no answer comes from memory as a whole; the first round is shown apart, because it reads what
later ones have in memory.
"""

import argparse
import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.benchmarks.lens_store import SOURCES, open_store
from tests.benchmarks.report import load, median, parser, say
from topiary.app.analysis.document_map import read_source
from topiary.app.analysis.document_table import DocumentFilter
from topiary.app.analysis.filters import FilterSources
from topiary.app.analysis.hierarchy import format_identity
from topiary.app.analysis.trends import join_shares
from topiary.app.jobs import process
from topiary.app.live.feed import Feed
from topiary.app.pages.documents_reading import SelectedDocuments, TableRequest, find_selection, place_rows, read_rows
from topiary.app.pages.filters import SelectionReader, open_documents
from topiary.app.pages.session import Context, View, cut_view
from topiary.app.pages.topic_documents import TopicDocuments
from topiary.app.pages.trends import TrendRequest, read_trends
from topiary.app.views.documents.document_table import TablePage, draw_table
from topiary.app.views.trends.trends_page import draw_trends
from topiary.engine.contract import Counts
from topiary.engine.document_map import layout
from topiary.engine.hierarchy.tree import Node
from topiary.engine.lens.periods import find_growth
from topiary.engine.lens.typical import compare_topics, compare_words, sum_words
from topiary.engine.pool import Pool
from topiary.store import columns, corpora, runs, snapshots
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database

MAPS = {10_000: 3.0, 100_000: 25.0, 500_000: 100.0}  # documents, and seconds as the target
RUN = 1


class Timing(NamedTuple):
    """Seconds by the clock and of processors: of the first round, and medians of the others."""

    first: tuple[float, float]
    later: tuple[float, float]


def main(argv: Sequence[str] | None = None) -> int:
    """Print seconds by the clock and of processors, beside their targets."""
    options = parser(__doc__ or "", corpus=False)
    options.add_argument("folder", type=Path, help="where the store is kept")
    options.add_argument("--documents", type=int, default=500_000)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--only", choices=list(_PARTS), nargs="+", default=["tables", "pages"])
    options.add_argument("--threads", type=int, default=2, help="of the map")
    arguments = options.parse_args(argv)
    db = open_store(arguments.folder, arguments.documents)
    try:
        say(f"{arguments.documents:,} documents, 224 topics; {load()}")
        for part in arguments.only:
            _PARTS[part](db, arguments)
        say(load())
    finally:
        db.close()
    return 0


def time_rounds(work: Callable[[int], object], rounds: int) -> Timing:
    """Time ``work(round)``; the first round is not in the medians."""
    clock, processor = [], []
    for number in range(rounds + 1):
        gc.collect()
        began, used = time.perf_counter(), time.process_time()
        work(number)
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    return Timing((clock[0], processor[0]), (median(clock[1:]), median(processor[1:])))


def report_timing(name: str, timing: Timing, target: float | None = None) -> None:
    """Print a line: milliseconds of processors and by the clock, later and first, and the target."""
    figures = [1e3 * seconds for pair in (timing.later, timing.first) for seconds in reversed(pair)]
    wanted = "" if target is None else f"   target {1e3 * target:.0f}, ratio {timing.later[1] / target:.2f}"
    say(f"  {name:<52}" + "".join(f"{each:9.1f}" for each in figures) + wanted)


FILTERS: dict[str, Callable[[int], tuple[str, ...]]] = {
    "no filter": lambda _: (),
    "a category": lambda number: (f"source={SOURCES[number % len(SOURCES)]}",),
    "a range of dates": lambda number: (f"date=2005-{1 + number % 12:02d}..2017-{1 + number % 12:02d}",),
    "the share of a topic": lambda number: (f"L1:{3 + number}=10%..",),
    "all three": lambda number: (
        f"source={SOURCES[number % 3]}",
        f"date=2004..20{10 + number}",
        f"L2:{number + 1}=5%..",
    ),
}


QUERIES = ("da", "ba", "report", "ga", "day", "ti", "ne", "zo", "fi", "lu", "ko", "su")


def measure_pages(db: Database, arguments: argparse.Namespace) -> None:
    """Measure what pages wait for."""
    context, rounds = open_context(db), arguments.rounds
    hierarchy = context.feed.hierarchy(RUN)
    corpus = corpora.get_run_corpus(db, runs.get_run(db, RUN))
    sources = open_documents(context, corpus, hierarchy).sources
    root = Node(hierarchy.n_layers, 0)

    def report_filters(title: str, work: Callable[[tuple[str, ...]], object], plain: float | None = 0.3) -> None:
        """Measure work under every filter, and without one if it has a target of its own for that."""
        for name, where in FILTERS.items():
            target = 0.3 if where(0) else plain
            if target is not None:
                report_timing(f"{title}: {name}", time_rounds(lambda number, w=where: work(w(number)), rounds), target)  # type: ignore[misc]

    def report_words(title: str, work: Callable[[str], object]) -> None:
        """Measure work under searches for words."""
        report_timing(f"{title}: words", time_rounds(lambda number: work(QUERIES[number % len(QUERIES)]), rounds), 0.3)

    say(f"  {'milliseconds':<52}{'processor':>9}{'clock':>9}{'1st proc.':>9}{'clock':>9}")
    report_timing("read the shares of layer 1", time_rounds(lambda _: sources.read_use(1), rounds))
    report_filters("filter", lambda where: open_documents(context, corpus, hierarchy, where).selected, None)
    report_words("filter", lambda query: list_documents(context, DocumentFilter(query)))
    for kind, topic, title in (
        ("time", (), "Trends, over time"),
        ("time", (format_identity(root),), "Trends, a topic and its children"),
        ("groups", (), "Trends, by group"),
    ):
        report_filters(title, partial(draw_trend, context, kind, topic), 0.2)
    report_filters("Explore, shares of all layers", partial(select_shares, context), None)
    report_filters("Explore, documents of a topic", partial(list_topic_documents, context, root))
    report_filters("Documents, first page", lambda where: draw_documents(context, DocumentFilter(where=where)))
    report_words("Documents, first page", lambda query: draw_documents(context, DocumentFilter(query)))
    subject = format_identity(root)
    report_filters(
        "Documents of a topic", lambda where: draw_documents(context, DocumentFilter(subject=subject, where=where))
    )
    measure_engine(context, corpus, sources, rounds)


def measure_engine(context: Context, corpus: CorpusRow, sources: FilterSources, rounds: int) -> None:
    """Measure what grew, and what is typical of a selection."""
    hierarchy = context.feed.hierarchy(RUN)
    shares = join_shares(sources.read_use(1), hierarchy.widths[0])
    dates = sources.read_column(columns.find_column(sources.columns, "date"))
    report_timing("what grew, of 128 topics", time_rounds(lambda _: find_growth(shares, dates), rounds), 0.2)
    wheres = [FILTERS["a range of dates"](number) for number in range(rounds + 1)]
    masks = [open_documents(context, corpus, hierarchy, where).selected for where in wheres]
    timing = time_rounds(lambda number: compare_topics(shares, masks[number]), rounds)
    report_timing("typical topics of a selection, of 128", timing, 0.3)
    counts = Counts(*corpora.load_corpus(context.db, corpus.number).counts)
    everything = sum_words(counts, corpus.words)
    timing = time_rounds(
        lambda number: compare_words(sum_words(counts, corpus.words, masks[number]), everything), rounds
    )
    report_timing("typical words of a selection", timing, 0.3)


def open_context(db: Database) -> Context:
    """Return what pages need of a session, without one."""
    feed = Feed(db)
    feed.look_now()
    nothing: dict[str, Any] = dict.fromkeys(("actions", "on_tick", "on_close", "in_turn", "aside", "soon", "notify"))
    view = View(page="trends", run=RUN)
    return Context(view=view, feed=feed, db=db, later=lambda work, then, _: then(work()), **nothing)


def draw_trend(context: Context, kind: str, topic: tuple[str, ...], where: tuple[str, ...]) -> str:
    """Return the page Trends as HTML, over time or by group."""
    snapshot = context.feed.hierarchy(RUN).snapshot
    view = View(page="trends", run=RUN, snapshot=snapshot, where=where, trend=kind, trend_topic=topic)
    page = read_trends(context, cut_view(view, TrendRequest)).contents
    assert page is not None
    assert page.over_time or page.by_group, page.note
    return draw_trends(page)


def select_shares(context: Context, where: tuple[str, ...]) -> None:
    """Measure the shares of all topics in the documents selected, as Explore does."""
    context.view.where = where
    reader = SelectionReader(context)
    reader.add(context.feed.hierarchy(RUN), lambda: None)
    assert reader.answer is not None
    assert not reader.answer.fault, reader.answer.fault


def list_topic_documents(context: Context, node: Node, where: tuple[str, ...]) -> None:
    """Read the documents selected that use a topic most, as Explore does."""
    context.view.where = where
    documents, hierarchy = TopicDocuments(context), context.feed.hierarchy(RUN)
    documents.of(hierarchy, node, lambda: None)
    assert documents.of(hierarchy, node, lambda: None)


def list_documents(context: Context, wanted: DocumentFilter) -> SelectedDocuments:
    """Return the documents that the filters of the table select."""
    return find_selection(context, TableRequest(RUN, context.feed.hierarchy(RUN).snapshot, wanted), lambda: True)


def draw_documents(context: Context, wanted: DocumentFilter) -> str:
    """Return the first page of the table of documents as HTML, with the strongest topics of its rows."""
    selected = list_documents(context, wanted)
    rows = read_rows(context, selected, 0)
    hierarchy = selected.hierarchy
    assert hierarchy is not None
    placed = place_rows(context, RUN, hierarchy.snapshot, [row.number for row in rows])
    strongest = {number: topics[0] for number, topics in placed.items() if topics[0] is not None}
    about: dict[str, Any] = {"total": selected.selection.total, "documents": selected.corpus.documents}
    page = TablePage(wanted=wanted, rows=rows, hierarchy=hierarchy, strongest=strongest, **about)
    return draw_table(replace(page, columns=selected.columns))


def measure_tables(db: Database, arguments: argparse.Namespace) -> None:
    """Write the documents with their shares of all topics by ``topiary export``, one file for each layer."""
    for suffix in ("csv", "parquet"):
        used = [write_documents(db, layer, arguments.folder / f"documents.{suffix}") for layer in (1, 2, 3)]
        clock, processor = (sum(each) for each in zip(*(part[:2] for part in used), strict=True))
        peak = max(part[2] for part in used)
        say(
            f"  documents x topics of all layers as {suffix}: {processor:.1f} s of a processor, "
            f"{clock:.1f} s by the clock (target 60), peak {peak / 1e6:.0f} MB (target 1,000)"
        )


def write_documents(db: Database, layer: int, path: Path) -> tuple[float, float, int]:
    """Return seconds by the clock and of processors, and the most bytes of memory, of one export."""
    words = ["export", str(RUN), "documents", "--layer", str(layer), "--output", str(path), "--store", db.url]
    began = time.perf_counter()
    command, quiet = [sys.executable, "-m", "topiary.app.cli.main", *words], subprocess.DEVNULL
    child = subprocess.Popen(command, env=process.build_environment(db.url), stdout=quiet, stderr=quiet)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"topiary {' '.join(words)} failed")
    path.unlink()
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime, 1024 * usage.ru_maxrss


def measure_maps(db: Database, arguments: argparse.Namespace) -> None:
    """Place the first documents of the corpus on a map."""
    run, pool = runs.get_run(db, RUN), Pool(arguments.threads)
    source = read_source(db, run, snapshots.find_latest(db, RUN))
    whole = source.features
    for n in [200, *(n for n in MAPS if n <= arguments.documents)]:
        features = whole.select(np.arange(n))
        clock, processor = time.perf_counter(), time.process_time()
        draft = layout.draft_map(features, source.parents, run.seed, pool)
        drafted = time.perf_counter() - clock
        layout.finish_map(features, draft, run.seed, pool)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        if n in MAPS:
            say(
                f"  map of {n:,} documents: {processor:.1f} s of processors, {clock:.1f} s by the clock with "
                f"{arguments.threads} threads (draft {drafted:.1f} s, target {MAPS[n]:.0f} s)"
            )


_PARTS = {"tables": measure_tables, "pages": measure_pages, "maps": measure_maps}

if __name__ == "__main__":
    sys.exit(main())
