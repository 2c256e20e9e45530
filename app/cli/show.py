"""The commands that print or draw results: ``topiary runs``, ``show``, ``tree``, ``film``, ``compare`` and others."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topiary.app.analysis.errors import ReadError
from topiary.app.cli.console import (
    UserError,
    find_run,
    make_file_error,
    name_topics,
    notify,
    print_json,
    print_table,
    say,
    say_json,
)
from topiary.app.export.records import find_headlines, list_all_facts, list_curve_facts, list_run_facts
from topiary.app.export.texts import flatten_text
from topiary.app.jobs.estimates import ESTIMATE_NAMES, LOGLIK_NAMES, POINT, describe_trend, find_estimate_name
from topiary.app.jobs.plan import PAPER_SCORE_NAME
from topiary.app.jobs.process import find_state
from topiary.app.jobs.progress import Progress
from topiary.app.names import STEPS, name_step, plural
from topiary.app.plots.request import FigureRequest, read_width
from topiary.app.views.text import format_estimate, format_percent, name_estimate
from topiary.store import points as run_points
from topiary.store import runs
from topiary.store.database import Database, open_existing
from topiary.store.run_rows import RunRow, describe_left_out

if TYPE_CHECKING:
    from topiary.app.analysis.hierarchy import Hierarchy
    from topiary.app.analysis.topic_reader import TopicReader
    from topiary.engine.hierarchy.tree import Direction

DEFAULT_CHANGED_TOPICS = 12  # number of changed topics that a comparison lists by default


def list_runs(arguments: argparse.Namespace) -> int:
    """Print all runs as a table."""
    db = open_existing(arguments.store)
    rows, curves = runs.list_runs(db), run_points.read_curves(db, "point_perplexity")
    headlines = find_headlines(db, rows)
    if arguments.json:
        print_json(
            [
                list_run_facts(row, headlines[row.number]) | list_curve_facts(row, curves.get(row.number, []))
                for row in rows
            ]
        )
        return 0
    grouped = any(row.run_group is not None for row in rows)
    print_table(
        (
            "run",
            *(("group", "seed") if grouped else ()),
            "corpus",
            "model",
            "layers",
            "state",
            "steps",
            "figure",
            "which is its",
            "point curve",
        ),
        [
            (
                row.number,
                *((row.run_group or "", row.seed) if grouped else ()),
                row.corpus_name,
                f"{row.model} {row.inference}",
                "-".join(map(str, row.layers)),
                find_state(row),
                f"{row.minibatch:,}/{row.planned:,} {STEPS[name_step(row)]}",
                format_estimate(headlines[row.number]),
                name_estimate(headlines[row.number]),
                describe_trend(curves.get(row.number, [])),
            )
            for row in rows
        ],
        "there is no run yet; start one with topiary train CORPUS, or try topiary demo",
    )
    if sentence := describe_left_out(db):
        notify(sentence)
    return 0


def show(arguments: argparse.Namespace) -> int:
    """Print the facts about one run."""
    db = open_existing(arguments.store)
    row = find_run(db, arguments.run)
    facts = list_all_facts(db, row) | {"parent_exists": any(other.number == row.parent for other in runs.list_runs(db))}
    if arguments.json:
        print_json(facts)
        return 0
    names = {
        "test_perplexity": PAPER_SCORE_NAME,
        "judged": f"{find_estimate_name(row, POINT)} of",
        "trend": "its curve",
    }
    names |= {kind: find_estimate_name(row, kind) for kind in ESTIMATE_NAMES | LOGLIK_NAMES}
    for name, value in facts.items():
        if value not in (None, "", {}):
            title = names.get(name, name.replace("_", " "))
            say(f"{title:<21} {_format_value(value)}")
    return 0


def topics(arguments: argparse.Namespace) -> int:
    """Print the topics of a run, most popular first."""
    from topiary.app.analysis.hierarchy import LIVE
    from topiary.app.export.topics import list_row_and_column_topics

    db = open_existing(arguments.store)
    run = find_run(db, arguments.run)
    hierarchy = _read_hierarchy(db, run, arguments.minibatch)
    if arguments.quality:
        from topiary.app.analysis.quality import add_npmi

        hierarchy = add_npmi(db, run, hierarchy)
    hierarchy = hierarchy.choose_words(arguments.relevance)
    try:
        table = list_row_and_column_topics(hierarchy, arguments.layer, arguments.words)
    except LookupError as error:
        raise UserError(str(error.args[0])) from error
    if arguments.json:
        print_json(table)
        return 0
    columns = [row for row in table if row.get("side") == "columns"]  # topics of columns come last
    table = table[: len(table) - len(columns)]
    light = 0 if arguments.all else sum(row["light"] for row in table)
    table = [row for row in table if arguments.all or not row["light"]]
    titles = [flatten_text(row["title"]) for row in table]
    width, name_width = (max(map(len, each), default=0) for each in (titles, [row["topic"] for row in table]))
    say(f"{'topic':<{name_width}}  {'rank':>4}  {'share':>6}  title and words")
    roles = ["" if row["role"] == LIVE else row["role"] for row in table]
    role_width = max(map(len, roles), default=0)
    for row, title, role in zip(table, titles, roles, strict=True):
        words = flatten_text(" ".join(row["words"]))
        npmi = _format_quality(row) if arguments.quality else ""
        role_cell = f"  {role:<{role_width}}" if role_width else ""
        say(
            f"{row['topic']:<{name_width}}  {row['rank']:>4}  {format_percent(row['share'], 1):>6}{role_cell}  "
            f"{npmi}{title:<{width}}  {words}{_describe_twin(row)}"
        )
    if columns:
        say("\ntopics of the columns:")
    for row in columns:
        say(
            f"{row['topic']:<{name_width}}  {row['rank']:>4}  {format_percent(row['share'], 1):>6}  "
            f"{flatten_text(' '.join(row['words']))}"
        )
    if arguments.quality:
        notify("figures before the titles: NPMI of the first ten words in the training documents, see topiary quality")
    if light:
        notify(f"{plural(light, 'topic')} of under 0.1% of the tokens left out; --all lists them")
    if hierarchy.common_words:
        common = flatten_text(" ".join(hierarchy.vocabulary[number] for number in hierarchy.common_words))
        notify(f"everywhere in this corpus, and left out of titles: {common}")
    return 0


def _describe_twin(row: dict[str, Any]) -> str:
    return "" if row["twin"] is None else f"  (nearly the same as {row['twin']})"


def tree(arguments: argparse.Namespace) -> int:
    """Write the tree, or the part below (or above) some topics, to a file and print the path of the file."""
    from topiary.app.export.trees import write_tree
    from topiary.app.views.tree.boxes import find_class
    from topiary.app.views.tree.opening import choose_threshold, list_top_topics

    _refuse_without_picture("tree.svg", arguments.output, {"--class": arguments.label})
    db = open_existing(arguments.store)
    row = find_run(db, arguments.run)
    hierarchy = _read_hierarchy(db, row, arguments.minibatch)
    if Path(arguments.output).suffix.lower() not in (".svg", ".dot"):
        hierarchy = _open_reader(db).add_recurrence(row, hierarchy)
    hierarchy = hierarchy.choose_words(arguments.relevance)
    threshold = choose_threshold(arguments.threshold, hierarchy)
    try:
        named = hierarchy.find_topics(arguments.topics, arguments.layer)
        roots = named or list_top_topics(hierarchy, arguments.layer, light=arguments.light)
        label = find_class(hierarchy.classes, arguments.label) if arguments.label else 0
        direction: Direction = "up" if arguments.up else "down"
        options = {"label": label, "light": arguments.light}
        path = write_tree(hierarchy, roots, threshold, direction, arguments.output, **options)
    except OSError as error:
        raise make_file_error(arguments.output, error) from error
    except (LookupError, ValueError) as error:
        raise UserError(str(error.args[0] if len(error.args) == 1 else error)) from error
    name_topics(hierarchy, named)
    say(path)
    return 0


def report(arguments: argparse.Namespace) -> int:
    """Write the report of a run to an HTML file and print the path of the file."""
    from topiary.app.analysis.shares import find_placed_snapshot
    from topiary.app.export.report import write_report

    db = open_existing(arguments.store)
    row, progress = find_run(db, arguments.run), Progress()
    snapshot = find_placed_snapshot(db, row, arguments.minibatch)
    hierarchy = _read_hierarchy(db, row, snapshot.minibatch)
    try:
        topics, below = (hierarchy.find_topics(texts) for texts in (arguments.topics, arguments.below))
        path = write_report(
            db, row, snapshot, arguments.output,
            topics=topics, below=below, marked=arguments.marked, quotes=arguments.quotes, columns=arguments.columns,
            report=lambda share: progress.show("writing the report", share),
        )  # fmt: skip
    except OSError as error:
        raise make_file_error(arguments.output, error) from error
    except (LookupError, ValueError) as error:
        raise UserError(str(error.args[0] if len(error.args) == 1 else error)) from error
    finally:
        progress.end()
    name_topics(hierarchy, [*topics, *below])
    say(path)
    return 0


def film(arguments: argparse.Namespace) -> int:
    """Write the film of a run to an HTML file and print the path of the file."""
    from topiary.app.export.film import write_film

    db = open_existing(arguments.store)
    try:
        say(write_film(db, find_run(db, arguments.run), arguments.output))
    except OSError as error:
        raise make_file_error(arguments.output, error) from error
    except ValueError as error:
        raise UserError(str(error)) from error
    return 0


def compare(arguments: argparse.Namespace) -> int:
    """Print how the topics of two runs differ."""
    from topiary.app.export.comparison import ComparisonView, compare_runs, write_comparison
    from topiary.app.views.tree.opening import choose_threshold

    picture_options = {"--layer": arguments.layer, "--topic": arguments.topics, "--class": arguments.label}
    _refuse_without_picture("compare.svg", arguments.output, picture_options)
    if arguments.most is not None and (arguments.output or arguments.json):
        raise UserError("--most counts lines of the summary, which --output and --json do not print; leave it out")
    db = open_existing(arguments.store)
    rows = find_run(db, arguments.run_a), find_run(db, arguments.run_b)
    hierarchies = (
        _read_hierarchy(db, rows[0], arguments.minibatch_a),
        _read_hierarchy(db, rows[1], arguments.minibatch_b),
    )
    if Path(arguments.output or "").suffix.lower() != ".svg":
        from topiary.app.analysis.quality import add_npmi

        hierarchies = add_npmi(db, rows[0], hierarchies[0]), add_npmi(db, rows[1], hierarchies[1])
    threshold = choose_threshold(arguments.threshold, *hierarchies)
    try:
        if arguments.output:
            view = ComparisonView(threshold, arguments.layer or 0, tuple(arguments.topics), arguments.label)
            text = str(write_comparison(db, hierarchies, view, arguments.output))
        else:
            text = compare_runs(
                db,
                hierarchies,
                threshold,
                most=DEFAULT_CHANGED_TOPICS if arguments.most is None else arguments.most,
                as_json=arguments.json,
            )
    except OSError as error:
        raise make_file_error(arguments.output, error) from error
    except (LookupError, ValueError) as error:
        raise UserError(str(error.args[0] if len(error.args) == 1 else error)) from error
    name_topics(hierarchies[1], hierarchies[1].find_topics(arguments.topics))
    (say_json if arguments.json and not arguments.output else say)(text)
    return 0


def seeds(arguments: argparse.Namespace) -> int:
    """Print what of a run comes back in runs that differ in the seed alone."""
    from topiary.app.export.recurrence import collect_recurrence, write_recurrence

    db = open_existing(arguments.store)
    row = find_run(db, arguments.run)
    hierarchy = _read_hierarchy(db, row, arguments.minibatch)
    try:
        facts = collect_recurrence(db, row, hierarchy, arguments.threshold, arguments.layer)
    except LookupError as error:
        raise UserError(str(error.args[0])) from error
    if arguments.json:
        print_json(facts)
        return 0
    say(write_recurrence(facts, arguments.most))
    if facts["waiting"]:
        notify(f"not compared yet: {', '.join(f'run {number}' for number in facts['waiting'])}, without topics so far")
    notify("topics: those of the run that comes first, with the words shown in most of the runs that have them")
    return 0


def points(arguments: argparse.Namespace) -> int:
    """Print every point of a run as CSV."""
    db = open_existing(arguments.store)
    run = find_run(db, arguments.run).number
    say("minibatch,documents,seconds,name,layer,value")
    for point in run_points.read_points(db, run):
        value = "" if point.value is None else repr(point.value)
        say(f"{point.minibatch},{point.documents},{point.seconds!r},{point.name},{point.layer},{value}")
    return 0


def _refuse_without_picture(example: str, output: str | None, options: dict[str, Any]) -> None:
    """Raise an error for options that only affect a picture if none is written."""
    if any(options.values()) and Path(output or "").suffix.lower() != ".svg":
        flags = " and ".join(flag for flag, value in options.items() if value)
        raise UserError(f"{flags} without a picture would change nothing; give --output {example} too")


def _format_quality(topic: dict[str, Any]) -> str:
    """Return the NPMI of a topic as a column of text."""
    npmi = "-" if topic["npmi"] is None else f"{topic['npmi']:.3f}"
    return f"{npmi:>6}  "


def _open_reader(db: Database) -> "TopicReader":
    from topiary.app.analysis.topic_reader import TopicReader  # loads SciPy, which the list of runs does not need

    return TopicReader(db)


def _read_hierarchy(db: Database, row: RunRow, minibatch: int | None) -> "Hierarchy":
    return _open_reader(db).hierarchy_at(row, minibatch)


def _format_value(value: Any) -> str:
    """Return a fact as text on one line."""
    if isinstance(value, dict):
        values = {name: item for name, item in value.items() if item is not None and not isinstance(item, dict)}
        return ", ".join(f"{name}={_format_value(item)}" for name, item in values.items())
    if isinstance(value, list):
        return "-".join(map(str, value))
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def figure(arguments: argparse.Namespace) -> int:
    """Draw a figure, write it to a file and print the path."""
    from topiary.app.plots.request import find_kind

    try:
        kind = find_kind(arguments.kind)
        request = _make_figure_request(arguments)
        _refuse_ignored_option(arguments.kind, kind.options, request)
        _check_number_of_runs(arguments.kind, kind.runs, 1 + len(arguments.others))
        say(_write_figure(arguments, request))
    except OSError as error:
        raise make_file_error(arguments.output, error) from error
    except (ReadError, LookupError) as error:
        raise UserError(str(error.args[0])) from error
    return 0


def _write_figure(arguments: argparse.Namespace, request: FigureRequest) -> str:
    """Draw a figure, write it to the file that the arguments name, and return the path."""
    from topiary.app.plots.read import Source
    from topiary.app.plots.request import plot_figure
    from topiary.app.plots.style import check_path, save

    path = check_path(arguments.output)
    db = open_existing(arguments.store)
    sources = [Source(db, find_run(db, text).number) for text in (arguments.run, *arguments.others)]
    written = str(save(plot_figure(arguments.kind, sources, request), path))
    if request.topic or request.where:
        hierarchy = sources[-1].hierarchy(request.minibatch)
        name_topics(hierarchy, hierarchy.find_topics(request.topic), request.where)
    return written


def _make_figure_request(arguments: argparse.Namespace) -> FigureRequest:
    """Return the options of a figure that the arguments hold."""
    given = vars(arguments) | {"topic": tuple(arguments.topics), "where": tuple(arguments.where)}
    given["width"] = read_width(arguments.width)
    return FigureRequest(**{name: given[name] for name in FigureRequest._fields})


def _refuse_ignored_option(kind: str, used_options: tuple[str, ...], request: FigureRequest) -> None:
    given = [name for name, value in request._asdict().items() if name != "width" and value not in (None, ())]
    ignored = next((name for name in given if name not in used_options), None)
    if ignored is not None:
        raise UserError(f"--{ignored} changes nothing in the figure {kind}; leave it out")


def _check_number_of_runs(kind: str, allowed: tuple[int, int], n_runs: int) -> None:
    """Raise an error if a kind of figure cannot show this number of runs."""
    least, most = allowed
    if n_runs < least:
        raise UserError(f"the figure {kind} shows {least} runs; name the other one by --with RUN")
    if n_runs > most:
        limit = "one run" if most == 1 else f"{most} runs at most"
        raise UserError(f"the figure {kind} shows {limit}, and {n_runs} are named; give fewer by --with")
