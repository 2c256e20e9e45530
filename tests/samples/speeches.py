"""Yearly addresses of a made-up state, with years, two parties and planted trends, as a table of paragraphs.

``python -m tests.samples.speeches speeches.csv`` writes it.  Nothing in it is text of others: every paragraph is about
one theme and made of sentence patterns that are filled with words of the theme.
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

FIRST, LAST = 1900, 1999
PARTIES = ("reform", "union")  # each governs for eight years, then the other
COLUMNS = ("title", "date", "party", "text")


class Theme(NamedTuple):
    """A subject of speeches: its words, its weight at the first and the last year, and its factor under each party."""

    words: str
    first: float
    last: float
    factors: tuple[float, float] = (1.0, 1.0)


THEMES = {
    "railways": Theme("railway locomotive bridge station track freight signal timetable", 4.0, 0.4),
    "clinics": Theme("clinic doctor nurse vaccine patient ward medicine insurance", 0.4, 4.0),
    "fishery": Theme("herring trawler net harbour catch lighthouse pier quota", 2.0, 2.0, (2.0, 0.5)),
    "farming": Theme("barley orchard plough cattle harvest barn seed fodder", 2.0, 2.0, (0.5, 2.0)),
    "schools": Theme("school teacher pupil lesson library textbook classroom exam", 2.0, 2.0),
    "courts": Theme("court judge statute jury verdict appeal witness clerk", 2.0, 2.0),
}
_PATTERNS = (
    "We shall build more than one {} and repair each {} before winter.",
    "No {} can serve the people without a good {}.",
    "Last year I asked for a new {}, and the {} has been paid for.",
    "Let every district report on its {}, its {} and its {}.",
    "Where the {} fails, the {} fails with it.",
    "I thank those who look after the {} and the {}.",
)


def weigh_themes(year: int, party: int) -> np.ndarray:
    """Return the probability of every theme in a year under a party, (themes,)."""
    late = (year - FIRST) / (LAST - FIRST)
    weights = np.array(
        [(theme.first + (theme.last - theme.first) * late) * theme.factors[party] for theme in THEMES.values()]
    )
    return weights / weights.sum()


def name_party(year: int) -> str:
    """Return the party that governs in a year."""
    return PARTIES[(year - FIRST) // 8 % 2]


def write_paragraph(rng: np.random.Generator, theme: Theme, sentences: int = 5) -> str:
    """Return a paragraph about a theme."""
    patterns = rng.choice(len(_PATTERNS), sentences)
    return " ".join(
        _PATTERNS[place].format(*rng.choice(theme.words.split(), _PATTERNS[place].count("{}"), replace=False))
        for place in patterns.tolist()
    )


def list_paragraphs(paragraphs: int = 20, seed: int = 7) -> Iterator[tuple[str, str, str, str]]:
    """Yield title, date, party and text of ``paragraphs`` paragraphs a year."""
    rng = np.random.default_rng(seed)
    themes = list(THEMES.values())
    for year in range(FIRST, LAST + 1):
        party = name_party(year)
        drawn = rng.choice(len(themes), paragraphs, p=weigh_themes(year, PARTIES.index(party)))
        for number, theme in enumerate(drawn.tolist(), start=1):
            title = f"Address of {year}, paragraph {number}"
            yield title, f"{year}-12-01", party, write_paragraph(rng, themes[theme])


def write_speeches(path: Path, paragraphs: int = 20) -> Path:
    """Write the table as CSV, with a line of column names, and return its path."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        table.writerows(list_paragraphs(paragraphs))
    return path


if __name__ == "__main__":
    write_speeches(Path(sys.argv[1]))
