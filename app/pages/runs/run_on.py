"""The field of a new run that says where its documents are swept."""

from app.jobs.cluster import place
from app.views.runs.new_run_form import Field, by_field

NAME, LABEL = "on", "Run on"
HERE = "this computer"
GROUP = "Where it runs"  # the heading among the folded fields
HELP = (
    "local:2 sweeps the documents in two processes of this machine, and the address of a Dask scheduler, such as "
    "tcp://host:8786, on the machines of its cluster. The topics are the same."
)


def run_on(value: str, error: str) -> Field:
    """The field as it stands; it cannot be changed where Dask is missing, and says so."""
    there = place.is_dask_installed()
    missing = by_field(place.DASK_MISSING, {NAME: LABEL})
    about = HELP if there else f"{missing[0].upper()}{missing[1:]}."
    hint = f"Usually {HERE}." if there else ""
    return Field(NAME, LABEL, about, "text", value, error=error, hint=hint, locked=not there, group=GROUP)


def chosen(text: str) -> str:
    """The place that a text names, as ``--on`` takes it; nothing for this computer."""
    return "" if text.strip().lower() == HERE else text.strip()


def wrong(text: str, store: str) -> str:
    """The sentence with which ``--on`` refuses a place for a run of a store, or nothing."""
    try:
        if chosen(text):
            place.check_place(chosen(text), store)
    except place.PlaceError as error:
        return by_field(str(error), {NAME: LABEL})
    return ""
