"""The commands about a whole store: ``topiary serve``, ``demo``, ``check``, ``backup`` and ``prune``."""

import argparse
import gc
import os
from collections.abc import Callable
from pathlib import Path

from topiary.app.cli.console import UserError, find_run, notify, print_json, say, write_output
from topiary.app.export.texts import flatten_text
from topiary.app.jobs import process
from topiary.app.jobs.progress import Progress
from topiary.app.names import SIZES, plural
from topiary.store.check import UNVERIFIED, CheckReport, Damage, check_store
from topiary.store.database import find_default_path, open_database, open_existing
from topiary.store.errors import DamagedStore, FormerStore, StoreError
from topiary.store.upkeep import PruneRule, copy_store, find_part, find_removable, vacuum_store

LOCAL = "127.0.0.1"  # the demo can be reached from this machine only


def demo(arguments: argparse.Namespace) -> int:
    """Show the store in the browser while another process prepares the demo; both end together."""
    return _run_server(_serve_demo, arguments)


def serve(arguments: argparse.Namespace) -> int:
    """Show the store in the browser until the server is stopped."""
    return _run_server(_serve_store, arguments)


def _run_server(serve_app: Callable[[argparse.Namespace], None], arguments: argparse.Namespace) -> int:
    """Run a server until it is stopped; errors about starting it become a `UserError`."""
    from topiary.app.analysis.errors import ReadError
    from topiary.app.server.hosts import ServeError

    try:
        serve_app(arguments)
    except (ServeError, ReadError) as error:
        raise UserError(str(error)) from error
    return 0


def _serve_demo(arguments: argparse.Namespace) -> None:
    """Prepare the demo in another process and serve the store; when the server ends, end the process."""
    from topiary.app.jobs.demo import begin_demo
    from topiary.app.server.hosts import choose_port

    choose_port(LOCAL, arguments.port)  # raises an error for a port in use before anything is started
    process.sweep_folders()
    db = open_database(_choose_store(arguments.store))
    url = db.url
    db.close()
    preparation = begin_demo(url, quick=arguments.quick, hold=True)
    serve_app = _load_server()

    def announce(address: str) -> None:
        if preparation.stdin is not None:
            preparation.stdin.close()
        _announce(address)

    try:
        serve_app(
            url,
            arguments.port,
            address=LOCAL,
            open_browser=not arguments.no_browser,
            on_ready=announce,
            allowed_hosts=arguments.allow_host,
        )
    finally:
        if preparation.poll() is None:
            preparation.terminate()
            preparation.wait()


def _load_server() -> Callable[..., None]:
    """Return the server, loaded without looking for garbage: there is none, and it would take a tenth of the time."""
    gc.disable()
    from topiary.app.server.serve import serve as serve_app

    gc.enable()
    return serve_app


def _serve_store(arguments: argparse.Namespace) -> None:
    """Serve the store after checking passwords and the address."""
    from topiary.app.analysis.name_server import find_server
    from topiary.app.server.access import PasswordFiles, check_open_address

    is_named = arguments.names_url or arguments.names_model
    names = find_server(arguments.names_url, arguments.names_model) if is_named else None
    files = PasswordFiles(arguments.password_file, arguments.viewer_password_file, warn=notify)
    passwords = files.read()
    check_open_address(arguments.address, passwords, insecure=arguments.insecure)  # before anything is started
    serve_app = _load_server()
    process.sweep_folders()
    serve_app(
        _choose_store(arguments.store),
        arguments.port,
        address=arguments.address,
        open_browser=arguments.open,
        on_ready=_announce,
        allowed_hosts=arguments.allow_host,
        passwords=passwords,
        read_changes=files.read_changes,
        insecure=arguments.insecure,
        largest_upload=arguments.largest_upload << 20,
        prefix=arguments.prefix,
        behind_proxy=arguments.behind_proxy,
        names=names,
    )


def _choose_store(given: str | None) -> str | None:
    """Return the store to show: by default a new file if the present one is from before version 0.1.0; say so once."""
    if given is None and not os.environ.get("TOPIARY_STORE"):
        former = find_default_path()
        try:
            open_database().close()
        except FormerStore:
            path = find_default_path(new=True)
            open_database(path).close()
            notify(f"{former} was made by a Topiary before version 0.1.0 and stays as it is; {path} is a new store")
    return given


def _announce(url: str) -> None:
    write_output(f"Topiary is at {url}  (Ctrl-C ends the server; training goes on)\n")


# Singular forms of the kinds of rows that a check reports.
SINGLE = {
    "corpora": "corpus",
    "blocks of documents": "block of documents",
    "snapshots": "snapshot",
    "checkpoints": "checkpoint",
    "predictions": "set of predictions",
    "runs": "run",
    "events": "event",
    "points": "point",
    "names of topics": "name of a topic",
    "matches": "match",
}
FOUND = 1  # exit status of a check that found damage


def check(arguments: argparse.Namespace) -> int:
    """Read everything in the store and print what is damaged; return 1 if there is damage, else 0."""
    progress = Progress()
    try:
        db = open_database(arguments.store, readonly=True)
        report = check_store(db, progress.show)
    except DamagedStore as error:
        progress.end()
        if arguments.json:
            print_json(_list_damages(CheckReport({}, (Damage(str(error), ""),))))
        else:
            say(error)
        return FOUND
    finally:
        progress.end()
    if arguments.json:
        print_json(_list_damages(report))
    else:
        _print_report(report, db.place)
    return FOUND if report.damages else 0


def _list_damages(report: CheckReport) -> dict[str, object]:
    """Return the facts that ``check --json`` prints."""
    damages = [damage._asdict() for damage in report.damages]
    facts = {"whole": not damages, "read": report.read, "damages": damages}
    return facts | {"unverified": UNVERIFIED}


def _print_report(report: CheckReport, place: str) -> None:
    for damage in report.damages:
        say(flatten_text(damage.what))
        say(f"    {flatten_text(damage.means)}")
    read = ", ".join(plural(n, SINGLE.get(kind, kind), kind) for kind, n in report.read.items())
    sound = "everything is as it was written"
    verdict = f"{len(report.damages)} damaged" if report.damages else sound
    say(f"{place}: {verdict} (read: {read or 'nothing yet'})")
    say(f"not verified: {UNVERIFIED}")


def backup(arguments: argparse.Namespace) -> int:
    """Copy the store into a file while it is in use."""
    progress = Progress()
    target = Path(arguments.file).expanduser()
    process.sweep_folders()
    try:
        db = open_existing(arguments.store)
        with process.own_file(find_part(target)):
            size = copy_store(db, target, progress.show)
    finally:
        progress.end()
    say(f"{target}  {_format_size(size)}")
    notify(f"the copy is a store of its own: topiary serve --store {target} shows it")
    return 0


def prune(arguments: argparse.Namespace) -> int:
    """Remove what the store does not need, and return the space to the file system."""
    db = open_existing(arguments.store)
    chosen = {find_run(db, text).number for text in arguments.run}
    if chosen and arguments.keep is None and arguments.budget is None and not arguments.damaged:
        raise UserError("say with --keep, --budget or --damaged which snapshots of the runs are to go")
    rule = PruneRule(arguments.keep, arguments.budget, arguments.damaged, chosen or None)
    items = find_removable(db, rule)
    for item in items:
        if not arguments.dry_run:
            item.remove(db)
        say(f"{_format_size(item.size):>10}  {item.what}")
    total = _format_size(sum(item.size for item in items))
    if not items:
        say("there is nothing to remove")
    elif arguments.dry_run:
        say(f"{total:>10}  would be removed; nothing is")
    else:
        say(f"{total:>10}  removed")
    if not arguments.dry_run:
        try:
            vacuum_store(db)
        except StoreError as error:
            notify(str(error))
    return 0


def _format_size(size: int) -> str:
    """Return a number of bytes as text, such as ``3.2 MB``."""
    unit, factor = next(((unit, each) for unit, each in reversed(SIZES.items()) if size >= each), ("B", 1))
    return f"{size / factor:,.{0 if factor == 1 else 1}f} {unit}"
