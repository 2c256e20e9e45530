"""Where the work on documents is done: ``local:2``, or the address of a Dask scheduler."""

import logging
import re
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from distributed import Client

MISSING = "--on needs Dask, which is not installed; pip install 'topiary[cluster]'"
MOST_LOCAL = 512  # processes of one machine
_ADDRESS = re.compile(r"(tcp|tls)://[^\s/:]+:\d{1,5}|(tcp|tls)://\[[0-9a-fA-F:]+\]:\d{1,5}")


class PlaceError(ValueError):
    """Work cannot be spread like this; the message is one sentence for the user."""


class Place(NamedTuple):
    """Where documents are swept: ``processes`` on this machine, or the scheduler at ``address``."""

    processes: int = 0
    address: str = ""


def parse(text: str) -> Place:
    """The place that somebody named.

    Raises
    ------
    PlaceError
        When it is neither ``local:N`` nor the address of a scheduler.
    """
    kind, _, rest = text.partition(":")
    if kind == "local" and rest.isdigit() and 1 <= int(rest) <= MOST_LOCAL:
        return Place(processes=int(rest))
    if _ADDRESS.fullmatch(text):
        return Place(address=text)
    raise PlaceError(f"--on takes local:N, such as local:2, or the address of a Dask scheduler; got {text!r}")


def check_name(text: str) -> Place:
    """The place that somebody named, where there is Dask to reach it.

    Raises
    ------
    PlaceError
        When it cannot be read, or Dask is missing.
    """
    place = parse(text)
    try:
        import distributed  # noqa: F401  # only asked whether it is there
    except ModuleNotFoundError:
        raise PlaceError(MISSING) from None
    return place


def check(text: str, store: str) -> None:
    """Refuse, before anything is begun, a place that cannot serve a run of this store.

    Raises
    ------
    PlaceError
        When the place cannot be read, Dask is missing, or workers of another machine could not read the store.
    """
    place = check_name(text)
    if place.address and store.startswith("sqlite") and not _here(place.address):
        raise PlaceError(
            f"workers of {text} cannot read a store in a file of this machine; keep the store in PostgreSQL"
        )


def connect(
    text: str, *, threads: int = 1, of: Callable[[], dict[str, str]] | None = None, silent: bool = False
) -> "Client":
    """A client of the place, once its workers are there.

    Parameters
    ----------
    of : callable
        Gives the versions that must be the same everywhere; by default `versions`.
    silent : bool
        Whether somebody sits at the terminal, where processes of this machine are to print nothing.

    Raises
    ------
    PlaceError
        When no scheduler or no worker answers within a minute, or their versions differ from ours.
    """
    place = parse(text)
    try:
        from distributed import Client, LocalCluster
    except ModuleNotFoundError:
        raise PlaceError(MISSING) from None
    try:
        if place.processes:
            cluster = LocalCluster(
                n_workers=place.processes, threads_per_worker=threads, processes=True, host="127.0.0.1",
                dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL if silent else logging.WARNING,
                preload=["app.jobs.cluster.uninterrupted"] if silent else [],
            )  # fmt: skip
            client = Client(cluster)
        else:
            client = Client(place.address, timeout=60)
        client.wait_for_workers(max(place.processes, 1), timeout=60)
    except (OSError, TimeoutError) as error:
        raise PlaceError(
            f"no scheduler with workers answers at {text} ({error}); start them, then try again"
        ) from error
    try:
        _same_versions(client, text, of or versions)
    except PlaceError:
        close(client)
        raise
    return client


def close(client: "Client") -> None:
    """Leave the place; processes of this machine end."""
    cluster = client.cluster
    client.close()
    if cluster is not None:
        cluster.close()


def _here(address: str) -> bool:
    host = address.partition("://")[2].rpartition(":")[0].strip("[]")
    return host in ("localhost", "::1") or host.startswith("127.")


def _same_versions(client: "Client", text: str, of: Callable[[], dict[str, str]]) -> None:
    """Every worker computes with the sources and the libraries that we have, or its results could differ from ours."""
    own = of()
    for worker, theirs in client.run(of).items():
        different = [f"{name} {theirs[name]} instead of {own[name]}" for name in own if theirs[name] != own[name]]
        if different:
            raise PlaceError(f"the worker {worker} of {text} has {', '.join(different)}; install the same everywhere")


def versions() -> dict[str, str]:
    """What must be the same everywhere for the same bits: the engine's sources, numpy and numba."""
    from engine.jit import cache_folder

    return {"engine": cache_folder().name} | {name: version(name) for name in ("numpy", "numba")}
