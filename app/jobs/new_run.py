"""Create new runs: check requests by the rules, and write queued rows, also for groups of runs."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from topiary.app.jobs import gpu
from topiary.app.jobs.cluster import place
from topiary.app.jobs.forks import ForkOrigin
from topiary.app.jobs.plan import TEST, VALIDATION, RunOptions, ScoreProtocol, choose_protocol, plan_averaging
from topiary.app.jobs.run_rules import (
    SETTLING,
    SWEEPS,
    NewRunError,
    RunRequest,
    check_plateau,
    check_run,
    collect_row_facts,
    count_growth_steps,
    ends_by_itself,
    find_plateau_start,
    find_preset,
    find_sweep_start,
    proposes_widths,
    settles_by_itself,
    stops_overfitting,
    take_measures,
    tries_widths,
)
from topiary.app.machine import find_user
from topiary.engine import models, settings
from topiary.engine.gpu import memory
from topiary.store import corpora, runs
from topiary.store.corpus_rows import CorpusRow
from topiary.store.database import Database
from topiary.store.edits import NewEdit
from topiary.store.run_rows import RunRow

MORE_STEPS = 300  # of a run that continues one whose curve was still falling
CONTINUED = ", continued"  # end of its name
LONGER = 4  # factor on the default length for a run of mini-batches that ends at its plateau


def prepare_run(db: Database, request: RunRequest) -> dict[str, Any]:
    """Check a requested run and return the arguments of :func:`store.runs.create_run`.

    Raises
    ------
    NewRunError
        When the model, a setting or a number is not valid.
    store.errors.NotFound
        When there is no such corpus.
    store.errors.DamagedRow
        When its row is damaged.
    """
    request, row = take_measures(request), corpora.find_corpus(db, request.corpus)
    until, fork, on, averaged = request.until, request.fork, request.on, request.averaged
    try:
        needs_labels = getattr(models.load(request.model), "NEEDS_LABELS", False)
        config, steps = check_run(row, request, _list_classes(db, row) if needs_labels else ())
        if until:
            check_plateau(row)
        if until and averaged:
            raise NewRunError("the averaged protocol has a length of its own; leave out either it or the plateau")
        sweep_start, is_default_length = find_sweep_start(config, row), request.minibatches is None
        is_proposed = fork is None and proposes_widths(
            find_preset(request.model, request.preset).texts | dict(request.texts)
        )
        settles = until == "settled" or (not until and is_default_length and settles_by_itself(config, row))
        if is_default_length:
            steps = adapt_length(steps, config, row, until)
        stops_overfit = (is_default_length or request.inherits_length or bool(until)) and stops_overfitting(
            config, averaged=averaged
        )
        protocol, test_protocol = _choose_protocols(row)
        options = RunOptions(
            minibatches=steps,
            threads=1 if request.threads is None else request.threads,
            averaged=averaged,
            burn_in=_check_burn_in(config, steps, request.burn_in) if averaged else request.burn_in,
            samples=request.samples,
            paper_point=request.paper_point,
            until_plateau=bool(until) or (is_default_length and ends_by_itself(config, row)),
            until_settled=settles,
            until_overfit=stops_overfit,
            plateau_from=find_plateau_start(config, row, fork) if until or stops_overfit else 0,
            keep=request.keep,
            protocol=protocol,
            test_protocol=test_protocol,
            on=on,
            whole=request.whole,
            tries_widths=is_proposed and not on and tries_widths(config, row),
            sweeps_after=sweep_start,
        )
        if on:
            _check_where(on, db.url, request.model, config, row, whole=request.whole)
        edits = plan_edits(db, row, request, config, steps)
    except NewRunError:
        raise
    except (LookupError, ValueError) as error:
        raise NewRunError(str(error.args[0])) from error
    return {
        "corpus": row.number,
        "model": request.model,
        "inference": str(getattr(config, "inference", "")),
        "layers": tuple(config.layers),
        "settings": settings.to_json(config),
        "options": options.to_json(),
        "seed": request.seed,
        "name": request.name,
        "fork": None if fork is None else fork.snapshot.number,
        "edits": edits,
    }


def plan_edits(db: Database, corpus: CorpusRow, request: RunRequest, config: Any, steps: int) -> list[NewEdit]:
    """Return the edits that a run begins with; ValueError if it cannot follow its guide."""
    if request.guide is None:
        return list(request.edits)
    from topiary.app.jobs.edit_orders import check_model, plan_guide  # other runs do without

    if request.on:
        raise NewRunError(f"topics are given to runs on this machine, and this one is to run on {request.on}", "on")
    planned = plan_guide(request.guide, corpora.read_vocabulary(db, corpus.number), config.layers, steps, find_user())
    facts = collect_row_facts(corpus)
    steers = models.load(request.model).build(config, facts).steers
    check_model(request.model, steers, facts, [edit.kind for edit in planned])
    return [*request.edits, *planned]


def _check_where(on: str, store: str, model: str, config: Any, corpus: CorpusRow, *, whole: bool) -> None:
    """Refuse a place that cannot sweep the documents of a run."""
    if on == memory.NAME:
        gpu.check_run_on_card(model, config, collect_row_facts(corpus))
        return
    place.check_place(on, store, whole=whole)
    where = place.parse_place(on, takes_gpu=True)
    if where.has_cards and where.processes:
        gpu.check_run_on_card(model, config, collect_row_facts(corpus), where.processes)
    elif where.has_cards:
        gpu.check_model(model, config)
    if not whole:
        place.check_listening(on)


def adapt_length(steps: int, config: Any, corpus: CorpusRow, until: str) -> int:
    """Return the default length of a run adapted to its end, in steps.

    Parameters
    ----------
    steps : int
        The length without ``until`` (:func:`app.jobs.run_rules.choose_length`).
    config : Config
        The settings of the run.
    until : {"", "good", "settled"}
        As in :func:`prepare_run`.
    """
    if find_sweep_start(config, corpus) is None:
        return steps * LONGER if until else steps
    is_settling = settles_by_itself(config, corpus)
    settles = until == "settled" or (not until and is_settling)
    return steps + (SETTLING - SWEEPS) * (settles - is_settling)


def create_run(db: Database, corpus: str | int, **fields: Any) -> RunRow:
    """Write a queued run, with the ``fields`` of a :class:`RunRequest`; `prepare_run` refuses an invalid one.

    :func:`app.jobs.launcher.start_queued_runs` then starts it.
    """
    return runs.create_run(db, **prepare_run(db, RunRequest(corpus=corpus, **fields)))


def request_fork(origin: ForkOrigin, **fields: Any) -> RunRequest:
    """Return the request for a run that goes on from a snapshot, with the parent's values where none are given."""
    parent, given = origin.run, {name: value for name, value in fields.items() if value is not None}
    has_length = "minibatches" in given or given.get("preset")
    parent_values: dict[str, Any] = {"model": parent.model, "seed": parent.seed}
    if not has_length:
        parent_values["minibatches"] = parent.planned
    inherits = "minibatches" not in given
    return RunRequest(corpus=parent.corpus, fork=origin, inherits_length=inherits, **(parent_values | given))


def fork_run(db: Database, origin: ForkOrigin, **fields: Any) -> RunRow:
    """Write a queued run that goes on from a snapshot (:func:`app.jobs.forks.find_origin`); see `request_fork`."""
    return runs.create_run(db, **prepare_run(db, request_fork(origin, **fields)))


def request_continuation(origin: ForkOrigin) -> RunRequest:
    """Return the request for a run that trains ``MORE_STEPS`` more steps from a snapshot, where its parent trained."""
    parent = origin.run
    name = parent.name if not parent.name or parent.name.endswith(CONTINUED) else f"{parent.name}{CONTINUED}"
    return request_fork(origin, texts={}, minibatches=MORE_STEPS, on=parent.options.get("on", ""), name=name)


def _list_classes(db: Database, corpus: CorpusRow) -> list[str]:
    """Return the names of the classes of the training documents."""
    numbers = corpora.count_labels(db, corpus.number)
    return [name for name, documents in zip(corpus.label_names, numbers, strict=True) if documents]


def _choose_protocols(corpus: CorpusRow) -> tuple[ScoreProtocol, ScoreProtocol | None]:
    """Return the protocols of the curve and, if that uses validation documents, of the final test (else None)."""
    tokens = max(1.0, corpus.tokens / max(1, corpus.documents))
    at_end = choose_protocol(tokens, corpus.test_documents, part=TEST, has_scored=corpus.has_scored)
    if not corpus.validation_documents:
        return at_end, None
    return choose_protocol(tokens, corpus.validation_documents, part=VALIDATION, has_scored=corpus.has_scored), at_end


def _check_burn_in(config: Any, minibatches: int, burn_in: int | None) -> int | None:
    """Return the burn-in of the averaged protocol, which must last until the widths are learnt."""
    growth_steps = count_growth_steps(config)
    if not growth_steps:
        return burn_in
    if burn_in is None:
        return max(growth_steps, plan_averaging(minibatches).first - 1)
    if burn_in < growth_steps:
        raise NewRunError(
            f"the burn-in of the averaged protocol must be at least {growth_steps:,}, when all widths are learnt; "
            f"got {burn_in:,}"
        )
    return burn_in


MOST_RUNS = 100  # in a group


def create_runs(db: Database, request: RunRequest) -> list[RunRow]:
    """Write the queued runs of a request, one for every combination of seed and settings; return their rows.

    The names of the runs of a group begin with that of the request, or with corpus and model.

    Raises
    ------
    NewRunError
        When one of the runs is not valid; then none is created.
    """
    combinations, seeds = _list_combinations(request.grid, request.texts), request.seeds or (request.seed,)
    n_runs = len(combinations) * len(seeds)
    if n_runs > MOST_RUNS:
        n = f"{len(combinations)} combinations of settings times {len(seeds)} seeds"
        raise NewRunError(f"a group has at most {MOST_RUNS} runs, and {n} are more; leave out some values or seeds")
    if not (request.seeds or request.grid):
        return [runs.create_run(db, **prepare_run(db, request))]
    base_name = request.name or f"{corpora.find_corpus(db, request.corpus).name} {request.model}"
    requests = [
        replace(
            request, texts=dict(request.texts) | chosen, seed=seed, whole=n_runs > 1 and bool(request.on),
            name=_name_run(base_name, chosen, seed, request.seeds),
        )
        for chosen, seed in itertools.product(combinations, seeds)
    ]  # fmt: skip
    rows: list[RunRow] = []
    for values in [prepare_run(db, each) for each in requests]:
        rows.append(runs.create_run(db, **values, group=rows[0].number if rows else 0))
    return rows


def _list_combinations(grid: Mapping[str, Sequence[str]], texts: Mapping[str, str]) -> list[dict[str, str]]:
    """Return all combinations of one value for each setting; the last setting varies fastest."""
    for name, values in grid.items():
        if name in texts:
            raise NewRunError(f"the setting {name} is given by itself and in the grid; give it once")
        if not values or len(set(values)) < len(values):
            raise NewRunError(f"the values of {name} in the grid must be different ones; got {','.join(values)!r}")
    return [dict(zip(grid, chosen, strict=True)) for chosen in itertools.product(*grid.values())]


def _name_run(base_name: str, chosen: Mapping[str, str], seed: int, seeds: Sequence[int]) -> str:
    """Return the name of a run of a group: ``news dlda, eta 0.05, seed 3``."""
    parts = [base_name, *(f"{name} {value}" for name, value in chosen.items())]
    return ", ".join([*parts, f"seed {seed}"] if seeds else parts)


MOST_SEEDS = 100  # in a group of runs


def read_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of a text such as ``1-5`` or ``1,3,7-9``, at most 100.

    Raises
    ------
    ValueError
        When the text is not valid; the message goes on after the name of the field ("must be ...").
    """
    seeds: list[int] = []
    quoted = repr(text if len(text) <= 60 else f"{text[:59]}…")
    for piece in text.split(","):
        ends = re.fullmatch(r"\s*(\d{1,19})(?:\s*-\s*(\d{1,19}))?\s*", piece, re.ASCII)
        if ends is None:
            raise ValueError(f"must be seeds such as 1-5 or 1,3,7; got {quoted}")
        first, last = int(ends[1]), int(ends[2] or ends[1])
        if not first <= last < first + MOST_SEEDS:
            raise ValueError(f"must be at most {MOST_SEEDS} seeds, the lower one first; got {quoted}")
        seeds += range(first, last + 1)
    if len(seeds) > MOST_SEEDS or len(seeds) != len(set(seeds)):
        raise ValueError(f"must be at most {MOST_SEEDS} seeds, each once; got {quoted}")
    return tuple(seeds)
