"""What a stranger may cause as often as he likes is logged a few times a minute, and in few words."""

import io
import logging

from topiary.app.server.quiet_log import LONGEST, MOST, SPAN, RateFilter, ShortFormatter, limit_log


def written(seldom, line, text="odd"):
    record = logging.LogRecord("bokeh", logging.WARNING, "place.py", line, "%s", (text,), None)
    return record.getMessage() if seldom.filter(record) else None


def test_each_place_may_log_so_often_and_then_says_what_it_left_out():
    now = [100.0]
    seldom = RateFilter(lambda: now[0])
    lines = [written(seldom, 1) for _ in range(MOST + 500)]
    assert lines == ["odd"] * MOST + [None] * 500
    assert written(seldom, 2) == "odd"  # another place
    now[0] += SPAN
    assert written(seldom, 1) == "odd (500 like it were left out)"
    assert written(seldom, 1) == "odd"
    assert written(seldom, 2) == "odd"


def test_an_entry_is_cut_and_steers_no_terminal():
    record = logging.LogRecord("bokeh", logging.ERROR, "place.py", 1, "%s", ("\x1b[2J\r\n" + "x" * 10**6,), None)
    text = ShortFormatter(logging.Formatter("%(message)s")).format(record)
    assert text.startswith("?[2J?\nxxx")
    assert len(text) < LONGEST + 20
    assert ShortFormatter(None).format(record).startswith("ERROR:bokeh:")


def test_handlers_of_every_logger_are_limited(monkeypatch, caplog):
    names = ("bokeh.core.has_props", "topiary.access")
    for name in names:
        caplog.set_level(logging.WARNING, logger=name)  # Dask, once imported, silences Bokeh's
    handlers = [logging.StreamHandler(io.StringIO()) for _ in range(2)]
    loggers = [logging.getLogger(), logging.getLogger("bokeh")]
    for logger, handler in zip(loggers, handlers, strict=True):
        monkeypatch.setattr(logger, "handlers", [handler])
    monkeypatch.setattr(loggers[1], "propagate", False)
    limit_log()
    for number in range(MOST + 10):
        logging.getLogger(names[0]).warning("an unknown attribute %s", number)
        logging.getLogger(names[1]).warning("404 %s", number)
    assert [len(handler.stream.getvalue().splitlines()) for handler in handlers] == [MOST, MOST]
