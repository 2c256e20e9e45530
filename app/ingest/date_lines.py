"""Lines that are nothing but a date, in the usual forms and languages of the west and in Russian."""

import re

_LONGEST = 60  # characters of a line that may be a date
_MONTHS = (
    # English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish, Polish, Russian
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec "
    "januar jänner februar märz mai juni juli oktober dezember mrz okt dez "
    "janvier février mars avril juin juillet août septembre octobre novembre décembre janv févr avr juil déc "
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre ene abr ago dic "
    "gennaio febbraio aprile maggio giugno luglio settembre ottobre novembre dicembre gen mag giu lug set ott "
    "janeiro fevereiro março maio junho julho setembro outubro novembro dezembro fev out "
    "januari februari maart mei augustus augusti mrt "
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia "
    "января февраля марта апреля мая июня июля августа сентября октября ноября декабря"
)
_DAYS = (
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun "
    "montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag "
    "lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miércoles jueves viernes sábado domingo "
    "lunedì martedì mercoledì giovedì venerdì sabato domenica segunda terça quarta quinta sexta feira "
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag "
    "понедельник вторник среда четверг пятница суббота воскресенье"
)
_BETWEEN = "the of de del di den der le el do st nd rd th er am pm at um uhr gmt utc est edt pst pdt cet cest г года"
_BEFORE = re.compile(
    r"(?:date|dated|(?:published|posted|updated)(?: on| at)?|datum|publié le|fecha|data)\s*:?\s", re.IGNORECASE
)
_NUMERIC = re.compile(
    r"(?:1[0-9]{3}|20[0-9]{2})[-/.年](?:0?[1-9]|1[0-2])(?:[-/.月](?:0?[1-9]|[12][0-9]|3[01])日?)?"
    r"|(?:0?[1-9]|[12][0-9]|3[01])[-/.](?:0?[1-9]|[12][0-9]|3[01])[-/.](?:1[0-9]{3}|20[0-9]{2}|[0-9]{2})"
)
_TIME = re.compile(
    r"(?:T|[ ,]+)(?:at |um )?[0-9]{1,2}[:.][0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:\s?[ap]\.?m\.?)?"
    r"(?:\s?(?:Z|GMT|UTC|[A-Z]{3,4}|[+-][0-9]{2}:?[0-9]{2}))?$",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"[0-9]")
_YEAR = re.compile(r"(?<![0-9])(?:1[0-9]{3}|20[0-9]{2})(?![0-9])")
_PIECE = re.compile(r"[^\W\d_]+|[0-9]+|[^\w\s.,;:()/'’-]")
_NAMES = frozenset(_MONTHS.split())
_OTHERS = frozenset((*_DAYS.split(), *_BETWEEN.split()))


def find_date(line: str) -> str | None:
    """Return the date that a line is, as it stands there; None where it is anything more.

    >>> find_date("September 26, 1975"), find_date("Published: 3. Mai 2021"), find_date("In May 1968")
    ('September 26, 1975', '3. Mai 2021', None)
    """
    line = line.strip()
    if len(line) > _LONGEST or not _DIGIT.search(line):
        return None
    before = _BEFORE.match(line)
    said = line[before.end() :].strip() if before else line
    day = _TIME.sub("", said).strip(" ,")
    return said if _NUMERIC.fullmatch(day) or _is_written(day) else None


def _is_written(day: str) -> bool:
    """Return whether a date has the name of a month, a year, and besides only numbers of days and small words."""
    pieces = [piece.lower() for piece in _PIECE.findall(day)]
    months = sum(piece in _NAMES for piece in pieces)
    numbers = [piece for piece in pieces if piece.isdecimal()]
    if months != 1 or not _YEAR.search(day) or len(numbers) > 2:
        return False
    days = [number for number in numbers if len(number) < 3]
    return all(0 < int(number) <= 31 for number in days) and all(
        piece in _NAMES or piece in _OTHERS or piece.isdecimal() for piece in pieces
    )
