"""``topiary runs``, ``show``, ``topics``, ``tree``, ``compare`` and ``points``: what the store knows, read."""

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.analysis.read_hierarchy import read_hierarchy, snapshot_at
from app.cli.console import Mistake, find_run, flat, notify, percent, print_json, print_table, say, say_json
from app.jobs import launcher
from app.jobs.estimates import (
    ESTIMATE_NAMES,
    LOGLIK_NAMES,
    MEAN,
    Curve,
    Estimate,
    choose_headline,
    describe_trend,
    find_plateau,
    read_all_latest,
    read_latest,
)
from app.jobs.plan import PAPER_WORDS, describe_protocol, read_options
from app.views.run_facts import format_estimate, name_estimate
from store import points as points_of
from store import runs
from store.database import Database, open_existing
from store.errors import DamagedRow
from store.run_rows import RunRow

if TYPE_CHECKING:
    from app.analysis.hierarchy import Hierarchy
    from engine.hierarchy.tree import Direction

CHANGED = 12  # topics that a comparison lists


def list_runs(arguments: argparse.Namespace) -> int:
    """List all runs."""
    db = open_existing(arguments.store)
    rows, curves = runs.list_runs(db), points_of.read_curves(db, "point_perplexity")
    judgements = judgements_of(db, rows)
    if arguments.json:
        print_json(
            [run_facts(row, judgements[row.number]) | curve_facts(row, curves.get(row.number, [])) for row in rows]
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
            "mini-batches",
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
                launcher.find_state(row),
                f"{row.minibatch:,}/{row.planned:,}",
                format_estimate(judgements[row.number]),
                name_estimate(judgements[row.number]),
                describe_trend(curves.get(row.number, [])),
            )
            for row in rows
        ],
        "there is no run yet; start one with topiary train CORPUS, or try topiary demo",
    )
    for row in rows:
        if row.damage:
            notify(f"run {row.number} is damaged: {row.damage}; topiary check says what that means")
    return 0


def show(arguments: argparse.Namespace) -> int:
    """Show one run."""
    db = open_existing(arguments.store)
    row = find_run(db, arguments.run)
    facts = all_facts(db, row) | {"parent_exists": any(other.number == row.parent for other in runs.list_runs(db))}
    if arguments.json:
        print_json(facts)
        return 0
    names = {"test_perplexity": PAPER_WORDS, "judged": "point perplexity of", "trend": "its curve"}
    names |= ESTIMATE_NAMES | LOGLIK_NAMES
    for name, value in facts.items():
        if value not in (None, "", {}):
            said = names.get(name, name.replace("_", " "))
            say(f"{said:<21} {_plain(value)}")
    return 0


def topics(arguments: argparse.Namespace) -> int:
    """List topics, most popular first."""
    from app.analysis.hierarchy import LIVE
    from app.export.topics import both_sides

    db = open_existing(arguments.store)
    run = find_run(db, arguments.run)
    hierarchy = _hierarchy_of(db, run, arguments.minibatch)
    if arguments.quality:
        from app.analysis.quality import with_npmi

        hierarchy = with_npmi(db, run, hierarchy)
    hierarchy = hierarchy.reworded(arguments.relevance)
    try:
        table = both_sides(hierarchy, arguments.layer, arguments.words)
    except LookupError as error:
        raise Mistake(str(error.args[0])) from error
    if arguments.json:
        print_json(table)
        return 0
    columns = [row for row in table if row.get("side") == "columns"]
    table = table[: len(table) - len(columns)]
    light = 0 if arguments.all else sum(row["light"] for row in table)
    table = [row for row in table if arguments.all or not row["light"]]
    titles = [flat(row["title"]) for row in table]
    width = max(map(len, titles), default=0)
    roles = ["" if row["role"] == LIVE else row["role"] for row in table]
    margin = max(map(len, roles), default=0)
    for row, title, role in zip(table, titles, roles, strict=True):
        words = flat(" ".join(row["words"]))
        said = _quality_of(row) if arguments.quality else ""
        kind = f"  {role:<{margin}}" if margin else ""
        say(f"L{row['layer']}  {row['rank']:>4}  {percent(row['share'], 1):>7}{kind}  {said}{title:<{width}}  {words}")
    if columns:
        say("\ntopics of the columns:")
    for row in columns:
        say(f"L{row['layer']}  {row['rank']:>4}  {percent(row['share'], 1):>7}  {flat(' '.join(row['words']))}")
    if arguments.quality:
        notify("figures before the titles: NPMI of the ten first words in the training documents, see topiary quality")
    if light:
        notify(f"{light} {'topic' if light == 1 else 'topics'} of under 0.1 % of the tokens left out; --all lists them")
    if hierarchy.everywhere:
        common = flat(" ".join(hierarchy.vocabulary[number] for number in hierarchy.everywhere))
        notify(f"everywhere in this corpus, and left out of titles: {common}")
    return 0


def tree(arguments: argparse.Namespace) -> int:
    """Write the tree under (or over) some topics."""
    from app.export.trees import write
    from app.views.tree.class_overlay import find_class
    from app.views.tree.opening import choose_threshold

    _refuse_without_picture("tree.svg", arguments.output, {"--class": arguments.label})
    db = open_existing(arguments.store)
    row = find_run(db, arguments.run)
    hierarchy = _hierarchy_of(db, row, arguments.minibatch).reworded(arguments.relevance)
    threshold = choose_threshold(arguments.threshold, hierarchy)
    layer = arguments.layer or hierarchy.n_layers
    try:
        roots = [hierarchy.at_rank(layer, rank) for rank in arguments.node or [1]]
        label = find_class(hierarchy.classes, arguments.label) if arguments.label else 0
        direction: Direction = "up" if arguments.up else "down"
        more = {"label": label, "light": arguments.light}
        path = write(hierarchy, roots, threshold, direction, arguments.output, **more)
    except OSError as error:
        raise _unwritten(arguments.output, error) from error
    except (LookupError, ValueError) as error:
        raise Mistake(str(error.args[0] if len(error.args) == 1 else error)) from error
    say(path)
    return 0


def compare(arguments: argparse.Namespace) -> int:
    """Say how the topics of two runs differ."""
    from app.cli.compare import Request, compare_runs, write_comparison
    from app.views.tree.opening import choose_threshold

    shown = {"--layer": arguments.layer, "--node": arguments.node, "--class": arguments.label}
    _refuse_without_picture("compare.svg", arguments.output, shown)
    if arguments.most is not None and (arguments.output or arguments.json):
        raise Mistake("--most counts lines of the summary, which --output and --json do not print; leave it out")
    db = open_existing(arguments.store)
    rows = find_run(db, arguments.run_a), find_run(db, arguments.run_b)
    hierarchies = _hierarchy_of(db, rows[0], arguments.minibatch_a), _hierarchy_of(db, rows[1], arguments.minibatch_b)
    if Path(arguments.output or "").suffix.lower() != ".svg":
        from app.analysis.quality import with_npmi

        hierarchies = with_npmi(db, rows[0], hierarchies[0]), with_npmi(db, rows[1], hierarchies[1])
    threshold = choose_threshold(arguments.threshold, *hierarchies)
    try:
        if arguments.output:
            view = Request(threshold, arguments.layer or 0, tuple(arguments.node or ()), arguments.label)
            text = str(write_comparison(db, hierarchies, view, arguments.output))
        else:
            text = compare_runs(
                db,
                hierarchies,
                threshold,
                most=CHANGED if arguments.most is None else arguments.most,
                as_json=arguments.json,
            )
    except OSError as error:
        raise _unwritten(arguments.output, error) from error
    except (LookupError, ValueError) as error:
        raise Mistake(str(error.args[0] if len(error.args) == 1 else error)) from error
    (say_json if arguments.json and not arguments.output else say)(text)
    return 0


def points(arguments: argparse.Namespace) -> int:
    """Print every point of a run as CSV."""
    db = open_existing(arguments.store)
    run = find_run(db, arguments.run).number
    say("minibatch,documents,seconds,name,layer,value")
    for point in points_of.read_points(db, run):
        value = "" if point.value is None else repr(point.value)
        say(f"{point.minibatch},{point.documents},{point.seconds!r},{point.name},{point.layer},{value}")
    return 0


def judgements_of(db: Database, rows: Sequence[RunRow]) -> dict[int, Estimate | None]:
    """The estimate that stands for each run."""
    latest = read_all_latest(db)
    return {row.number: choose_headline(row, latest.get(row.number, {})) for row in rows}


def judgement_facts(best: Estimate | None) -> dict[str, Any]:
    """The estimate that stands for a run: what it is, its value and what it is of."""
    kind, value, of = (None, None, None) if best is None else (best.kind, best.value, best.protocol)
    return {"headline": kind, "headline_value": value, "headline_of": of}


def run_facts(row: RunRow, best: Estimate | None) -> dict[str, Any]:
    """What ``show --json`` says of a run from its row and the estimate that stands for it; null is not known."""
    return {
        "run": row.number,
        "name": row.name,
        "corpus": row.corpus_name,
        "state": launcher.find_state(row),
        "damage": row.damage,
        "model": row.model,
        "inference": row.inference,
        "layers": list(row.layers),
        "minibatch": row.minibatch,
        "minibatches": row.planned,
        **judgement_facts(best),
        "point_perplexity": _finite(row.point_perplexity),
        "averaged_perplexity": _finite(row.averaged_perplexity),
        "seconds": row.seconds,
        "tokens_per_second": _finite(row.tokens_per_second),
        "message": row.message,
        "seed": row.seed,
        "group": row.run_group,
        "parent": row.parent,
        "parent_minibatch": row.parent_minibatch,
        "parent_snapshot": row.parent_snapshot,
        "attempt": row.attempt,
        "heartbeat_age": row.heartbeat_age,
        "created": row.created.isoformat(),
        "started": row.started.isoformat() if row.started else None,
        "ended": row.ended.isoformat() if row.ended else None,
        "settings": None if row.unusable and not row.settings else row.settings,
        "plan": _plan_facts(row),
        "traceback": row.traceback,
    }


def _plan_facts(row: RunRow) -> dict[str, Any] | None:
    try:
        return asdict(read_options(row))
    except DamagedRow:
        return row.plan or None


def curve_facts(row: RunRow, curve: Curve) -> dict[str, Any]:
    """What is said beside a run's point perplexity: what it is of, and whether its curve still falls."""
    measured = row.point_perplexity is not None
    return {
        "judged": describe_protocol(row) if measured else "",
        "trend": describe_trend(curve),
        "level_since": find_plateau(curve),
    }


def all_facts(db: Database, row: RunRow) -> dict[str, Any]:
    """All that ``show --json`` says of a run, but whether its parent exists."""
    paper = points_of.read_curve(db, row.number, "test_perplexity")
    curve = points_of.read_curve(db, row.number, "point_perplexity")
    latest = read_latest(db, row.number)
    more = {"mean_perplexity": _finite(latest.get(MEAN))} | curve_facts(row, curve)
    more |= {name: _finite(latest[name]) for name in LOGLIK_NAMES if name in latest}
    more |= {"test_perplexity": _finite(paper[-1][1] if paper else None)}
    facts: dict[str, Any] = {}
    for name, value in run_facts(row, choose_headline(row, latest)).items():
        facts[name] = value
        if name == "point_perplexity":
            facts |= more
    return facts


def _refuse_without_picture(usual: str, output: str | None, given: dict[str, Any]) -> None:
    """Refuse options that only a picture uses where none is written."""
    if any(given.values()) and Path(output or "").suffix.lower() != ".svg":
        named = " and ".join(flag for flag, value in given.items() if value)
        raise Mistake(f"{named} without a picture would change nothing; give --output {usual} too")


def _unwritten(path: str, error: OSError) -> Mistake:
    return Mistake(f"{path} cannot be written ({error.strerror or error}); give a file in a folder that is there")


def _quality_of(topic: dict[str, Any]) -> str:
    """NPMI of a topic."""
    npmi = "-" if topic["npmi"] is None else f"{topic['npmi']:.3f}"
    return f"{npmi:>6}  "


def _hierarchy_of(db: Database, row: RunRow, minibatch: int | None) -> "Hierarchy":
    return read_hierarchy(db, row, snapshot_at(db, row, minibatch))


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        said = {name: item for name, item in value.items() if item is not None and not isinstance(item, dict)}
        return ", ".join(f"{name}={_plain(item)}" for name, item in said.items())
    if isinstance(value, list):
        return "-".join(map(str, value))
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
