"""Whether the first line of a table has the names of its columns, decided by how it differs from the lines below it."""

from collections.abc import Sequence
from statistics import median

MOST_LETTERS = 60  # of a name of a column
PROSE = 20  # letters of a usual cell from which a column is one of texts, whose lengths tell a name from a text
SHORTER = 3  # times that a name is shorter than every text below it


def has_header(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool | None:
    """Compare the first line with those below it.

    Parameters
    ----------
    first : sequence of str
        The cells of the first line.
    rows : sequence of sequences of str
        The cells of the next lines; rows of other lengths are not looked at.

    Returns
    -------
    bool or None
        None where nothing tells: the table is one line, or its first line is like any other.

    Notes
    -----
    Each column says how much its first cell is unlike the others: text above numbers, a short cell above long ones, a
    value that never comes again above few values that do.  Cells that no column would be called by (numbers, long or
    empty texts, the same name twice) settle it at once.
    """
    names = [cell.strip() for cell in first]
    if not all(map(_can_be_a_name, names)) or len(set(names)) < len(names):
        return False
    body = [[cell.strip() for cell in row] for row in rows if len(row) == len(names)]
    evidence = sum(_evidence(name, [row[place] for row in body]) for place, name in enumerate(names)) if body else 0
    return None if evidence == 0 else evidence > 0


def _can_be_a_name(cell: str) -> bool:
    return 0 < len(cell) <= MOST_LETTERS and not is_number(cell)


def _evidence(name: str, values: list[str]) -> int:
    """How sure a column makes us that its first cell is a name (positive) or a value like the others (negative)."""
    filled = [value for value in values if value]
    if not filled:
        return 0
    if all(map(is_number, filled)):
        return 3
    if name in filled:
        return -3
    lengths = sorted(map(len, filled))
    if median(lengths) >= PROSE:
        if len(name) * SHORTER <= lengths[len(lengths) // 20]:
            return 2
        return -2 if len(name) >= lengths[len(lengths) // 20] else 0
    few = len(set(filled)) <= len(filled) // 3
    return 1 if few else 0


def is_number(cell: str) -> bool:
    """Whether a cell is a number, as in ``4``, ``-1.5`` and ``1,234.5``."""
    try:
        float(cell.strip().replace(",", "").rstrip("%"))
    except ValueError:
        return False
    return True
