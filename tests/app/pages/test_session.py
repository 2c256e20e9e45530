"""A link is the whole view, and a damaged link is never an error."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topiary.app.pages.session import CHOICES, DEFAULTS, FIELDS, View, from_query, to_query

WHOLE = st.integers(0, 999_999_999)
IDENTITIES = st.lists(st.builds("L{}:{}".format, st.integers(1, 99), st.integers(1, 9999)), unique=True, max_size=6)
VIEWS = st.fixed_dictionaries(
    {name: st.sampled_from(values) for name, values in CHOICES.items()}
    | {
        "run": WHOLE,
        "snapshot": WHOLE,
        "layer": st.integers(1, 999),
        "topic": WHOLE,
        "roots": IDENTITIES.map(tuple),
        "closed": IDENTITIES.map(tuple),
        "hidden": IDENTITIES.map(tuple),
        "most": st.integers(1, 100_000),
        "threshold": st.none() | st.floats(0, 1e6),
        "relevance": st.floats(0, 1),
        "search": st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
        "overlay": st.lists(st.integers(1, 999_999), unique=True, max_size=6).map(tuple),
        "label": WHOLE,
        "tab": st.text(string.ascii_lowercase + "-", max_size=12),
        "partner": WHOLE,
        "partner_snapshot": WHOLE,
        "partner_roots": IDENTITIES.map(tuple),
        "listed": st.integers(0, 999),
        "pairs": st.integers(1, 100_000),
        "documents": st.lists(st.integers(0, 999_999), max_size=2).map(tuple),
        "trail": IDENTITIES.map(tuple),
        "steps": st.integers(2, 30),
        "mixed": st.integers(0, 999),
        "query": st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
        "subject": IDENTITIES.map(lambda them: tuple(them[:1])),
        "table_page": st.integers(1, 999_999_999),
    }
)


@given(VIEWS)
def test_every_view_comes_back_from_its_link(fields):
    view = View(**fields)
    assert DEFAULTS | from_query(to_query(view)) == DEFAULTS | fields
    assert DEFAULTS | from_query("?" + to_query(view)) == DEFAULTS | fields


def test_a_link_says_what_differs_from_the_defaults_and_always_page_and_run():
    assert to_query(View()) == "page=watch&run=0"
    assert to_query(View(page="explore", run=12, snapshot=345)) == "page=explore&run=12&snapshot=345"


def test_a_link_of_an_earlier_version_with_every_field_still_opens():
    old = (
        "page=explore&run=3&snapshot=0&layer=3&topic=4&roots=L3:4&closed=&hidden=&most=40&threshold=auto&direction=down"
        "&part=union&overlay=&axis=minibatches&label=0&tab=&partner=0&partner_snapshot=0&partner_roots="
        "&side=run&sort=change&listed=0&pairs=40&identical=hidden&documents=&trail=&steps=9&mixed=0"
    )
    chosen = {"page": "explore", "run": 3, "layer": 3, "topic": 4, "roots": ("L3:4",)}
    assert DEFAULTS | from_query(old) == DEFAULTS | chosen
    assert to_query(View(**from_query(old))) == "page=explore&run=3&layer=3&topic=4&roots=L3:4"


def test_a_link_of_a_tree_can_be_read_by_people():
    query = to_query(View(page="explore", run=3, roots=("L3:17", "L3:2"), threshold=2.5))
    assert "roots=L3:17,L3:2" in query
    assert "threshold=2.5" in query
    assert to_query(View(threshold=5)).endswith("&threshold=5")


def test_what_a_link_may_say_is_what_the_field_declares():
    declared = {name: View.param[name] for name in FIELDS}
    bounded = {name: each.bounds for name, each in declared.items() if getattr(each, "bounds", None)}
    for name, (low, high) in bounded.items():
        assert from_query(f"{name}={low:g}") == {name: low}
        assert from_query(f"{name}={low - 1:g}") == {}
        if high is not None:
            assert from_query(f"{name}={high:.0f}") == {name: high}
            assert from_query(f"{name}={high + 1:.0f}") == {}
    for name, values in CHOICES.items():
        assert [from_query(f"{name}={value}") for value in values] == [{name: value} for value in values]
        assert from_query(f"{name}=auto") == {}
    assert {"page", "run", "threshold", "steps"} <= {*bounded, *CHOICES}


@given(st.text(max_size=300))
def test_any_text_gives_fields_a_view_takes(text):
    View(**from_query(text))


@given(st.lists(st.tuples(st.sampled_from(FIELDS), st.text(max_size=40)), max_size=8))
def test_any_value_of_a_known_field_is_taken_or_left_out(pairs):
    from urllib.parse import urlencode

    read = from_query(urlencode(pairs))
    assert set(read) <= set(FIELDS)
    View(**read)


@pytest.mark.parametrize(
    "query",
    [
        "page=admin",
        "run=-1",
        "run=1e3",
        "run=٣",
        "run=" + "9" * 400,
        "threshold=nan",
        "threshold=inf",
        "threshold=-1",
        "layer=auto",
        "layer=0",
        "axis=minutes",
        "tab=<script>",
        "unknown=1",
        "%zz=%",
    ],
)
def test_what_cannot_be_read_is_left_out(query):
    assert from_query(query) == {}


def test_identities_of_topics_that_cannot_be_are_dropped_and_the_others_kept():
    assert from_query("roots=L3:17,L0:1,L1:0,l1:1,L3:17,L٣:1,,L1:2") == {"roots": ("L3:17", "L1:2")}


def test_values_of_a_list_that_cannot_be_are_dropped_and_the_others_kept():
    assert from_query("overlay=3,0,-1,x,3,7&documents=5,5,6") == {"overlay": (3, 7), "documents": (5, 5)}
    assert from_query("documents=-1,6") == {"documents": (6,)}


def test_reserved_keys_of_the_page_are_not_fields():
    assert not {name for name in FIELDS if name == "theme" or name.startswith("bokeh")}
