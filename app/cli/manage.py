"""The commands that make and steer: corpora, runs and the app.

Each takes the parsed options and gives the exit status; so do those of ``read_commands``, ``place_commands``
and ``class_commands``.
"""

import argparse
from collections.abc import Sequence
from typing import Any

from app.cli import output
from app.cli.console import Mistake, as_typed, find_run, notify, print_json, print_table, say, settings_of
from app.cli.corpora import corpus_facts, given, print_summary, show_corpus, shown_by, sizes
from app.ingest.options import pluralise
from app.ingest.report.report import load_report
from app.jobs import launcher, logs, process
from app.jobs.cluster.whole import is_on_cluster
from app.jobs.estimates import read_latest
from app.jobs.forks import find_origin
from app.jobs.logs import list_events
from app.jobs.new_run import create_group, create_run
from app.jobs.new_run import fork_run as order_fork
from app.jobs.progress import Progress
from app.jobs.run_rules import describe_widths, proposes_widths
from app.jobs.waiting import ENDED, describe_end, follow_run, show_progress
from store import checkpoints, runs
from store import corpora as corpora_of
from store.database import Database, open_database, open_existing
from store.run_rows import RunRow

LOCAL = "127.0.0.1"  # nobody else sees the demo


def demo(arguments: argparse.Namespace) -> int:
    """Show the store in the browser while the demo is prepared, which ends with the server."""
    from app.jobs.demo import begin_demo
    from app.server.ports import choose_port

    choose_port(LOCAL, arguments.port)  # says that it is taken before anything is begun
    process.sweep_folders()
    db = open_database(arguments.store)
    url = db.url
    db.close()
    child = begin_demo(url)
    from app.server.serve import serve as serve_app

    try:
        serve_app(
            url,
            arguments.port,
            address=LOCAL,
            open_browser=not arguments.no_browser,
            on_ready=_announce,
            allowed_hosts=arguments.allow_host,
        )
    finally:
        if child.poll() is None:
            child.terminate()
            child.wait()
    return 0


def serve(arguments: argparse.Namespace) -> int:
    """Show the store in the browser until told to stop."""
    from app.server.access import check_open_address, read_passwords

    passwords = read_passwords(arguments.password_file, arguments.viewer_password_file, warn=notify)
    check_open_address(arguments.address, passwords, insecure=arguments.insecure)  # before anything is begun
    from app.server.serve import serve as serve_app

    process.sweep_folders()
    serve_app(
        arguments.store,
        arguments.port,
        address=arguments.address,
        open_browser=arguments.open,
        on_ready=_announce,
        allowed_hosts=arguments.allow_host,
        passwords=passwords,
        insecure=arguments.insecure,
        largest_upload=arguments.largest_upload << 20,
        prefix=arguments.prefix,
        behind_proxy=arguments.behind_proxy,
    )
    return 0


def _announce(url: str) -> None:
    output.write(f"Topiary is at {url}  (Ctrl-C ends the server; training goes on)\n")


def import_corpus(arguments: argparse.Namespace) -> int:
    """Make a corpus of a file or folder, of several files, or of standard input."""
    from app.ingest.archives import name_input, spool_input
    from app.ingest.errors import IngestError
    from app.ingest.importing import import_path
    from app.ingest.options import HELP, ImportOptions, OptionError
    from app.jobs.cluster.place import PlaceError
    from app.jobs.cluster.reading import open_map

    options = given(arguments)
    progress = Progress()
    db = open_database(arguments.store)
    try:
        with spool_input(arguments.path, options.get("format")) as paths, open_map(arguments.on) as mapped:
            how, shown = ImportOptions(**options), shown_by(progress)
            row = import_path(db, paths, how, shown, called=name_input(arguments.path), mapped=mapped)
    except (IngestError, PlaceError) as error:
        raise Mistake(str(error)) from error
    except OptionError as error:
        raise Mistake(as_typed(str(error), HELP)) from error
    finally:
        progress.end()
    if arguments.json:
        print_json(corpus_facts(row))
        return 0
    say(sizes(row))
    if (record := load_report(row.meta)) is not None:
        print_summary(record)
    return 0


def corpora(arguments: argparse.Namespace) -> int:
    """List corpora, show one, or delete one."""
    db = open_existing(arguments.store)
    if arguments.action == "delete":
        if arguments.corpus is None:
            raise Mistake("say which corpus to delete, by name or number")
        row = corpora_of.find_exact_corpus(db, arguments.corpus)
        corpora_of.delete_corpus(db, row.number)
        logs.record_action(db.place, f"deleted {logs.name_subject('corpus', row.number, row.name)}")
        say(f"deleted corpus {row.number}, {row.name}")
        return 0
    if arguments.action != "list":
        if arguments.corpus is not None and arguments.action != "show":
            raise Mistake(f"corpora does list, show or delete, and not {arguments.action!r}; say which")
        if arguments.corpus is None and arguments.action == "show":
            raise Mistake("say which corpus to show, by name or number")
        return show_corpus(db, arguments.corpus or arguments.action, as_json=arguments.json)
    if arguments.corpus is not None:
        raise Mistake(f"corpora list names all of them; leave {arguments.corpus!r} out, or say corpora show")
    rows = corpora_of.list_corpora(db)
    if arguments.json:
        print_json([corpus_facts(row) for row in rows])
        return 0
    print_table(
        ("corpus", "name", "documents", "words", "tokens", "kind"),
        [
            (
                row.number,
                row.name,
                *(f"{size:,}" for size in (row.documents, row.words, row.tokens)),
                "damaged" if row.damage else row.kind,
            )
            for row in rows
        ],
        "there is no corpus yet; make one with topiary import PATH, or try topiary demo",
    )
    for row in rows:
        if row.damage:
            notify(f"corpus {row.number} is damaged: {row.damage}; topiary check says what that means")
    return 0


def train(arguments: argparse.Namespace) -> int:
    """Order a run, or one for each seed and combination of settings, and start what there is room for."""
    texts = settings_of(arguments.settings, layers=arguments.layers, inference=arguments.inference)
    asked = _asked(arguments)
    if arguments.seeds is not None and arguments.seed is not None:
        raise Mistake("--seed and --seeds say the same twice; give one of them")
    db = open_existing(arguments.store)
    asked["seed"] = 1 if arguments.seed is None else arguments.seed
    if arguments.seeds is None and not arguments.grid:
        rows = [create_run(db, arguments.corpus, model=arguments.model, texts=texts, **asked)]
    else:
        grid = _grid(arguments.grid)
        seeds = arguments.seeds or ()
        rows = create_group(db, arguments.corpus, seeds, model=arguments.model, texts=texts, grid=grid, **asked)
    about = corpora_of.get_corpus(db, rows[0].corpus)
    proposed = proposes_widths(texts | dict(arguments.grid))
    return _start(db, rows, arguments, describe_widths(rows[0].layers, about.train_documents) if proposed else "")


def _grid(given: Sequence[tuple[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """Settings and their values, each setting once."""
    names = [name for name, _ in given]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise Mistake(f"--grid names {twice} twice; give all its values at once, as in {twice}=VALUE,VALUE")
    return dict(given)


def fork(arguments: argparse.Namespace) -> int:
    """Order a run that goes on from a snapshot of another one, and start it in the background."""
    texts = settings_of(arguments.settings)
    asked = _asked(arguments)
    db = open_existing(arguments.store)
    begin = find_origin(db, find_run(db, arguments.run).number, minibatch=_minibatch(arguments.snapshot))
    row = order_fork(db, begin, model=arguments.model, texts=texts, **asked)
    parent = f"goes on from run {begin.run.number} at mini-batch {begin.snapshot.minibatch:,}"
    return _start(db, [row], arguments, f"run {row.number} {parent}")


def _asked(arguments: argparse.Namespace) -> dict[str, Any]:
    """What a new run and a fork are ordered with, beside the model and its settings."""
    alone = [flag for name, flag in (("burn_in", "--burn-in"), ("samples", "--samples")) if _given(arguments, name)]
    if alone and not arguments.averaged:
        raise Mistake(f"{' and '.join(alone)} without --averaged would change nothing; give --averaged too")
    names = (
        "minibatches",
        "seed",
        "averaged",
        "burn_in",
        "samples",
        "until",
        "keep",
        "paper_point",
        "name",
        "preset",
        "on",
    )
    given = {name: getattr(arguments, name) for name in names}
    return given | {"threads": launcher.choose_threads() if arguments.threads is None else arguments.threads}


def _given(arguments: argparse.Namespace, name: str) -> bool:
    return getattr(arguments, name) is not None


def _start(db: Database, rows: Sequence[RunRow], arguments: argparse.Namespace, report: str = "") -> int:
    for row in rows:
        logs.record_action(db.place, f"started {logs.name_subject('run', row.number, row.name)}")
    started = launcher.start_queued_runs(
        db
    )  # before anything is printed: whoever reads may have gone, and the runs are ordered
    if report:
        notify(report)
    named = f"run {rows[0].number} is" if len(rows) == 1 else f"runs {rows[0].number} to {rows[-1].number} are"
    try:
        say("\n".join(str(row.number) for row in rows))
    except output.OutputClosed as error:
        raise output.OutputClosed(f"{named} ordered, but {error}") from error
    here = set(started) | {
        row.number for row in runs.list_runs(db) if row.state != "queued" or launcher.is_starting(row)
    }
    later = [row.number for row in rows if row.number not in here]
    if later and is_on_cluster(rows[0]):
        notify(f"{named} waiting: {list_events(db, later[0])[-1].text}")
    elif len(rows) == 1 and later:
        notify(f"run {later[0]} waits until another one ends")
    elif later:
        notify(f"{len(later)} of these {len(rows)} runs wait until others end; topiary queue shows their order")
    return max(wait(db, row.number) for row in rows) if arguments.wait else 0


def _minibatch(text: str) -> int | None:
    if text == "latest":
        return None
    number = pluralise(text)
    if number is None:
        raise Mistake(f"--snapshot is a mini-batch, or latest; got {text!r}")
    return number


def wait(db: Database, run: int) -> int:
    """Show the progress of a run until it ends; 0 unless it failed or fell silent."""
    progress = Progress()
    row, state = runs.get_run(db, run), ""
    try:
        for row, state in follow_run(db, run):
            if state not in ENDED:
                show_progress(progress, row, read_latest(db, run))
    except KeyboardInterrupt:
        progress.end(f"run {run} goes on in the background; topiary stop {run} ends it")
        return 130
    progress.end(describe_end(row, state))
    return 1 if state in ("failed", "silent") else 0


def stop(arguments: argparse.Namespace) -> int:
    """Stop a run."""
    return _steer(arguments, launcher.stop_run, "stopped", "stops")


def pause(arguments: argparse.Namespace) -> int:
    """Pause a run."""
    return _steer(arguments, launcher.pause_run, "paused", "pauses")


def resume(arguments: argparse.Namespace) -> int:
    """Go on with a run."""
    db = open_existing(arguments.store)
    run = find_run(db, arguments.run).number
    saved = checkpoints.find_checkpoint(db, run)
    launcher.resume_run(db, run)
    logs.record_action(db.place, f"resumed run {run}")
    if saved is None:
        notify(f"run {run} begins anew: it has no checkpoint yet")
    else:
        notify(f"run {run} goes on from its checkpoint at mini-batch {saved:,}")
    return wait(db, run) if arguments.wait else 0


def delete(arguments: argparse.Namespace) -> int:
    """Delete a run."""
    db = open_existing(arguments.store)
    row = find_run(db, arguments.run)
    run = row.number
    launcher.delete_run(db, run)
    logs.record_action(db.place, f"deleted {logs.name_subject('run', run, row.name)}")
    say(f"deleted run {run}")
    return 0


def _steer(arguments: argparse.Namespace, act: Any, verb: str, says: str) -> int:
    db = open_existing(arguments.store)
    run = find_run(db, arguments.run).number
    act(db, run)
    logs.record_action(db.place, f"{verb} run {run}")
    notify(f"run {run} {says}")
    return 0
