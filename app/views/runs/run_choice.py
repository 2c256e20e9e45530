"""Which runs the list shows and in which order, and the controls that choose it."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from topiary.app.jobs.estimates import choose_headline
from topiary.app.names import name_model, name_state
from topiary.app.views.html import render
from topiary.app.views.markup import name_run
from topiary.app.views.run_facts import RunFacts
from topiary.app.views.runs.run_list import matches_search

NEWEST, LOWEST = "newest", "perplexity"
ORDERS = {
    NEWEST: "newest first",
    "oldest": "oldest first",
    LOWEST: "lowest perplexity first",
    "steps": "most steps first",
    "time": "longest training first",
    "name": "by name",
}
FILTERS = {"state": "all states", "corpus": "all corpora", "model": "all models"}  # each with the entry for all
MANY = 12  # runs; a longer list gets a search field
FEW = 3  # runs; a shorter list needs no order
MOST_MARKED = 40  # runs in a table
Run = TypeVar("Run", bound=RunFacts)


class RunChoice(NamedTuple):
    """The runs that a list shows, and their order.

    Attributes
    ----------
    text : str
        Words that the row of a run must contain.
    state, corpus, model : str
        The state, the name of the corpus and the model of the runs; empty for all.
    order : str
        A key of :data:`ORDERS`.
    """

    text: str = ""
    state: str = ""
    corpus: str = ""
    model: str = ""
    order: str = NEWEST

    def change(self, name: str, value: str) -> "RunChoice":
        """Return the choice with another order, text or filter; unknown orders are those of a new list."""
        known = value if name != "order" or value in ORDERS else NEWEST
        return self._replace(**{name: known[:200]})

    def select(
        self, runs: Sequence[Run], state: Callable[[int], str], latest: Callable[[int], Mapping[str, float | None]]
    ) -> list[Run]:
        """Return the runs that fit, in order.

        Parameters
        ----------
        runs : sequence of rows
            The newest first.
        state : (run number) -> str
            The state to show.
        latest : (run number) -> mapping of str to float or None
            The newest values of the curves that :mod:`app.jobs.estimates` reads.
        """
        fitting = [
            run
            for run in runs
            if matches_search(run, state(run.number), self.text)
            and self.state in ("", state(run.number))
            and self.corpus in ("", run.corpus_name)
            and self.model in ("", run.model)
        ]
        return _sort_runs(fitting, self.order, latest)


def _sort_runs(runs: Sequence[Run], order: str, latest: Callable[[int], Mapping[str, float | None]]) -> list[Run]:
    """Return runs, the newest first, in another order; runs without a perplexity come last.

    Perplexities of different corpora or kinds do not compare, so that each corpus, and each kind in it, has its own
    order.
    """

    def find_perplexity(run: Run) -> tuple[float, str, str, float]:
        best = choose_headline(run, latest(run.number))
        if best is None or not best.lower_is_better:
            return math.inf, "", "", 0.0
        return 0.0, run.corpus_name, best.name, best.value

    keys: dict[str, Callable[[Run], Any]] = {
        "oldest": lambda run: run.number,
        LOWEST: find_perplexity,
        "steps": lambda run: -run.minibatch,
        "time": lambda run: -run.seconds,
        "name": lambda run: name_run(run).casefold(),
    }
    return sorted(runs, key=keys[order]) if order in keys else list(runs)


def draw_run_choice(runs: Sequence[RunFacts], state: Callable[[int], str], choice: RunChoice) -> str:
    """Return the controls above the list: search, filters by what differs among the runs, and order."""
    values = {
        "state": {state(run.number): name_state(state(run.number)) for run in runs},
        "corpus": {run.corpus_name: run.corpus_name for run in runs},
        "model": {run.model: name_model(run.model) for run in runs},
    }
    filters = []
    for name, every in FILTERS.items():
        chosen, offered = getattr(choice, name), values[name]
        if len(offered) > 1 or chosen:
            entries = (
                dict(sorted(({chosen: chosen} | offered).items(), key=lambda item: item[1])) if chosen else offered
            )
            filters.append((name, ({"": every} | entries).items(), chosen))
    has_search, orders = len(runs) > MANY or bool(choice.text), ORDERS.items() if len(runs) >= FEW else ()
    if not (has_search or filters or orders):
        return ""
    return render("runs.choice", choice.text, has_search, filters, orders, choice.order)


def draw_marked(marked: Collection[int], fitting: int) -> str:
    """Return the line above the list that compares the marked runs, or marks all; empty for a single run.

    Parameters
    ----------
    marked : collection of int
        The numbers of the marked runs.
    fitting : int
        Number of runs that fit the choice.
    """
    return "" if fitting < 2 and not marked else render("runs.marked_runs", len(marked), MOST_MARKED, fitting)


def explain_order(runs: Sequence[RunFacts], choice: RunChoice) -> str:
    """Return the warning that perplexities of different corpora do not compare, if the order suggests they do."""
    if choice.order != LOWEST or len({run.corpus_name for run in runs}) < 2:
        return ""
    return '<p class="tp-dim" role="status">Perplexities of different corpora do not compare; choose one corpus.</p>'
