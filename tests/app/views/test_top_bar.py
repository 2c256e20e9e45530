"""Every page of the table can be reached: built, linked in the bar, opened by its address, left where it is empty."""

from pkgutil import resolve_name
from types import SimpleNamespace

import feed_samples
import pytest

from topiary.app.jobs.gallery import GalleryProgress
from topiary.app.pages.session import CHOICES, View, from_query, to_query
from topiary.app.server import visit
from topiary.app.server.visit import BUILDERS, SessionShell
from topiary.app.views import markup, top_bar

EVERY = pytest.mark.parametrize("page", top_bar.PAGES, ids=lambda page: page.name)


def bar(name, *, predicts):
    return top_bar.draw_top_bar(top_bar.VisitorPlace(name, None, "", predicts=predicts), [])


def test_names_titles_marks_and_sentences_are_all_different():
    for column in zip(*((page.name, page.title, page.mark, page.help) for page in top_bar.PAGES), strict=True):
        assert len(set(column)) == len(column)


@EVERY
def test_a_page_has_a_builder_and_an_icon(page):
    assert isinstance(resolve_name(f"topiary.app.pages.{page.built_by.partition('.')[0]}"), type)
    assert callable(BUILDERS[page.name])
    assert "<path" in markup.draw_icon(page.mark)


@EVERY
def test_the_bar_leads_to_a_page_and_says_what_it_is_for(page):
    html = bar("runs" if page.in_bar else page.name, predicts=True)
    assert f'href="?page={page.name}"' in html
    assert f'title="{page.help}"' in html
    assert (f'data-page="{page.name}"' in bar("nowhere", predicts=False)) is (page.in_bar and not page.of_classes)
    assert f'data-page="{page.name}"' in bar(page.name, predicts=False)  # where one is, is never hidden
    view = View()
    SessionShell._on_bar(SimpleNamespace(view=view, _choose_run_of=lambda _: {}), {"do": "go", "page": page.name})
    assert view.page == page.name


@EVERY
def test_the_address_of_a_page_opens_it(page):
    assert page.name in CHOICES["page"]
    assert from_query(f"page={page.name}")["page"] == page.name
    assert from_query(to_query(View(page=page.name)))["page"] == page.name


@EVERY
def test_a_page_of_a_run_gives_way_where_there_is_none_and_the_others_stay(db, feed, page):
    feed.look_now()
    assert visit.lacks_runs(feed, 0, page.name) is page.of_run
    instead = {"page": page.name} | visit.replace_run(feed, 0, page.name).fields
    assert instead["page"] == ("runs" if page.of_run else page.name)
    feed_samples.run(db)
    feed.look_now()
    assert not visit.lacks_runs(feed, 0, page.name)


def test_the_strip_of_the_demo_says_how_far_it_is_and_is_gone_when_nothing_is_under_way():
    assert top_bar.draw_demo_progress(None) == ""
    html = top_bar.draw_demo_progress(GalleryProgress("Demo: 2 of 4 runs ready · next: <b>", 0.4321))
    assert "Demo: 2 of 4 runs ready · next: &lt;b&gt;" in html
    assert 'role="progressbar" aria-label="Progress of the demo" aria-valuenow="43"' in html
    assert "width:43.2%" in html
