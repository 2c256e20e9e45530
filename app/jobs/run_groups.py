"""Runs that are ordered together: one for every seed and every combination of some settings."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from app.jobs.new_run import prepared
from app.jobs.run_rules import NewRunError
from store import corpora, runs
from store.database import Database
from store.run_rows import RunRow

MOST_RUNS = 100  # of one group


def create_group(
    db: Database,
    corpus: str | int,
    seeds: Sequence[int] = (),
    *,
    model: str,
    texts: Mapping[str, str],
    grid: Mapping[str, Sequence[str]] | None = None,
    seed: int = 1,
    name: str = "",
    **more: Any,
) -> list[RunRow]:
    """Write a queued run for every seed and every combination of settings, alike in all else and named alike: a group.

    Parameters
    ----------
    db : Database
    corpus : str or int
        Name or number of a corpus.
    seeds : sequence of int
        Each once; none where ``seed`` is that of all.
    model : str
    texts : mapping of str to str
        Settings of all runs, as in :func:`app.jobs.new_run.create`.
    grid : mapping of str to sequence of str, optional
        Settings by name with the values that they take in turn.
    seed : int
        That of every run, where ``seeds`` is empty.
    name : str
        What comes before the settings and the seed in the names of the runs; the corpus and the model when it is not
        given.
    **more
        As in :func:`app.jobs.new_run.create`.

    Raises
    ------
    NewRunError
        When such a run cannot be; then there is none.
    """
    combinations = _combinations(grid or {}, texts)
    each_seed = seeds or (seed,)
    if len(combinations) * len(each_seed) > MOST_RUNS:
        n = f"{len(combinations)} combinations of settings times {len(each_seed)} seeds"
        raise NewRunError(f"a group has at most {MOST_RUNS} runs, and {n} are more; leave out some values or seeds")
    called = name or f"{corpora.find_corpus(db, corpus).name} {model}"
    together = len(combinations) * len(each_seed) > 1
    wanted = [
        prepared(
            db, corpus, model=model, texts=dict(texts) | chosen, seed=each, name=_called(called, chosen, each, seeds),
            whole=together and bool(more.get("on")), **more,
        )
        for chosen, each in itertools.product(combinations, each_seed)
    ]  # fmt: skip
    made: list[RunRow] = []
    for values in wanted:
        made.append(runs.create_run(db, **values, group=made[0].number if made else 0))
    return made


def _combinations(grid: Mapping[str, Sequence[str]], texts: Mapping[str, str]) -> list[dict[str, str]]:
    """Every choice of one value for each setting; the last one changes fastest."""
    for name, values in grid.items():
        if name in texts:
            raise NewRunError(f"the setting {name} is given by itself and in the grid; give it once")
        if not values or len(set(values)) < len(values):
            raise NewRunError(f"the values of {name} in the grid must be different ones; got {','.join(values)!r}")
    return [dict(zip(grid, chosen, strict=True)) for chosen in itertools.product(*grid.values())]


def _called(called: str, chosen: Mapping[str, str], seed: int, seeds: Sequence[int]) -> str:
    """``news dlda, eta 0.05, seed 3``."""
    parts = [called, *(f"{name} {value}" for name, value in chosen.items())]
    return ", ".join([*parts, f"seed {seed}"] if seeds else parts)
