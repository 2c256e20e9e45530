"""``topiary figure``: a figure of a run, or of several, as a file for a paper."""

import argparse

from app.cli.console import Mistake, find_run, say
from app.plots.request import FigureError, Request, inches
from store.database import open_existing


def figure(arguments: argparse.Namespace) -> int:
    """Draw a figure and write it; prints the path."""
    from app.plots import registry

    try:
        kind = registry.load(arguments.kind)
        chosen = _chosen(arguments)
        _refuse_idle(arguments.kind, kind.OPTIONS, chosen)
        _refuse_number(arguments.kind, kind.RUNS, 1 + len(arguments.others))
        say(_write(arguments, chosen))
    except OSError as error:
        why = error.strerror or error
        raise Mistake(f"{arguments.output} cannot be written ({why}); give a file in a folder that is there") from error
    except (FigureError, LookupError) as error:
        raise Mistake(str(error.args[0])) from error
    return 0


def _write(arguments: argparse.Namespace, chosen: Request) -> str:
    from app.plots import registry
    from app.plots.read import Source
    from app.plots.save import checked, save

    path = checked(arguments.output)
    db = open_existing(arguments.store)
    sources = [Source(db, find_run(db, text).number) for text in (arguments.run, *arguments.others)]
    return str(save(registry.load(arguments.kind).figure(sources, chosen), path))


def _chosen(arguments: argparse.Namespace) -> Request:
    return Request(
        inches(arguments.width),
        arguments.layer,
        tuple(arguments.node or ()),
        arguments.x,
        arguments.minibatch,
        arguments.threshold,
        arguments.most,
    )


def _refuse_idle(kind: str, obeyed: tuple[str, ...], chosen: Request) -> None:
    """Refuse options that would change nothing."""
    given = [name for name, value in chosen._asdict().items() if name != "width" and value not in (None, ())]
    idle = next((name for name in given if name not in obeyed), None)
    if idle is not None:
        raise Mistake(f"--{idle} changes nothing in the figure {kind}; leave it out")


def _refuse_number(kind: str, allowed: tuple[int, int], given: int) -> None:
    least, most = allowed
    if given < least:
        raise Mistake(f"the figure {kind} shows {least} runs; name the other one by --with RUN")
    if given > most:
        wants = "one run" if most == 1 else f"{most} runs at most"
        raise Mistake(f"the figure {kind} shows {wants}, and {given} are named; give fewer by --with")
